"""Ways of making offspring from elites, one file each."""
