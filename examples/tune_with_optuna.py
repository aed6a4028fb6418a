"""A hyper-parameter search with Optuna: sizes of MAP-Elites' mutations on point-maze, hopeless trials given up early.

    pip install qdpg[tune]
    python examples/tune_with_optuna.py

Every trial is an ordinary run in `study/`, which can be shown, drawn and resumed. Twelve trials take a minute or two.
"""

from pathlib import Path

import optuna

import qdpg
from qdpg.callbacks import OptunaPruning


def main(trials=12, steps=100_000, out="study", **settings):
    """Search, and return the study."""

    def objective(trial):
        pruning = OptunaPruning(trial, "qd_score", every=steps // 10)
        run = qdpg.train(
            "point-maze",
            "map-elites",
            steps=steps,
            out=Path(out) / f"trial-{trial.number}",
            callbacks=[pruning],
            iso_sigma=trial.suggest_float("iso_sigma", 0.003, 0.3, log=True),
            line_sigma=trial.suggest_float("line_sigma", 0.02, 1.0, log=True),
            population=trial.suggest_categorical("population", [20, 50, 100]),
            **{"initial_policies": 50, "hidden": (32, 32)} | settings,
        )
        pruning.check()
        return run.metrics()["qd_score"][-1]

    pruner = optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=steps // 5)
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    study.optimize(objective, n_trials=trials)
    given_up = sum(trial.state.name == "PRUNED" for trial in study.trials)
    print(f"best of {trials} trials, of which {given_up} were given up early: {study.best_value:,.0f}")
    for name, value in study.best_params.items():
        print(f"  {name} = {value:.4g}")
    return study


if __name__ == "__main__":
    main()
