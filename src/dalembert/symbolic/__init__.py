"""What a robot does, as CasADi SX expressions with structural zeros."""

from dalembert.symbolic.algebra import SX, pseudo_inverse
from dalembert.symbolic.assembly import Assembly
from dalembert.symbolic.dynamics import Dynamics

__all__ = ["SX", "Assembly", "Dynamics", "pseudo_inverse"]
