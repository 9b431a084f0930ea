"""Figures as plotly.js draws them: for pages, where values are read by pointing at them.

A panel is a plot of its own (`panels`). Title, notes and legend are the page's. Names and labels are text: what looks
like HTML in them is shown as it is. The colours are those for white paper; `values.DARK` has those for dark paper.
"""
