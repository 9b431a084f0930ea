"""Figures: from results to data (`waspbench.figures.figure`), and from data to what is looked at."""
