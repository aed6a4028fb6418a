"""Elites in files that others can use: ONNX and NumPy policies, videos."""
