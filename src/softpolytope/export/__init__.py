"""A fitted model in other forms: files, ONNX, SQL, Python source."""
