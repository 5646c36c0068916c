"""The figures and tables of the papers, each measured again beside its own numbers.

`python -m tools.bench papers` runs them (`runner`), keeps what was measured as one JSON
file a figure, and writes a page of all of them (`document`). No number on the page is
written by hand: other numbers take another run of the figure.

To add a figure, say `liquid-6`:

1. Write `liquid_6.py` in this folder, with the functions that `figure.Figure` lists:
   the parts to run, and the table and the plot that are made of what the parts return.
   Import TensorFlow and the like inside functions, so that the page needs neither.
2. Write `text/papers/liquid-6.md`: what the paper shows, what was run here, and why
   they differ. `{name}` in it is a value of the first part's result, or of `words`.
3. Add it to `figure.FIGURES`, in the order of the page.
4. Run it: `python -m tools.bench papers liquid-6 --data=NAME=FOLDER`. That writes its
   JSON, its plot and the page, which belong into one commit.

A part is a function without arguments that returns what JSON can hold. It is the unit
of resuming: each is stored when it ends, and an interrupted run goes on with the next
one. So a part has all contestants of a comparison in turn, and lasts a minute or two.
`Setting.quick` asks for the least that works, for tests and first tries. Speeds of
formats come from `speeds`, which runs pipelines in turn in a fresh process; what needs
another fresh process names its function to `liquid_tf._measure.fresh`.
"""
