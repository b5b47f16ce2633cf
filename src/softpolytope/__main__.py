"""`python -m softpolytope`, where the command itself is not on the path."""

import sys

from softpolytope.cli import main

sys.exit(main())
