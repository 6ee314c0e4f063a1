.PHONY: run test test-all lint lock bench

# The workbench on http://localhost:5006; `make run PORT=5007` takes another port
PORT = 5006
run:
	@sh .ci/install run
	@exec .venv/bin/assay serve --port $(PORT)

# The tests, two at a time; what was skipped is listed with its reason
test:
	@sh .ci/install test
	@exec .venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -ra -m "not slow"

# And those that take long: compiling for cards, a real tracking server, timings of workers, memory
test-all:
	@sh .ci/install test
	@exec .venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -ra

lint:
	@sh .ci/install test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright

# Speed against other libraries, each in an environment of its own
bench:
	@sh .ci/install test
	@exec .venv/bin/python tests/benchmarks/run.py

# requirements.lock from pyproject.toml; versions stay unless `make lock UPGRADE=1`
lock:
	@sh .ci/install test
	@.venv/bin/python -m pip install --quiet --target .venv/.assay/uv --upgrade uv==0.13.9
	.venv/.assay/uv/bin/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 $(if $(UPGRADE),--upgrade) \
	    --custom-compile-command "make lock" --output-file requirements.lock --quiet
