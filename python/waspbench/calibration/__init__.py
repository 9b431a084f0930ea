"""What the work of a server costs: the runs that tell it, what is counted in them, and the costs that follow."""
