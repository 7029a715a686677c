"""Compares methods on equal terms: the same task, the same privacy statement and the same tuning budget.

For each epsilon, the noise of every method is calibrated by an accountant whose bound is proven for its sampler, and
its arguments are chosen on data that the test does not use. What this choice reveals about the data is not included in
epsilon, for any method.

A comparison has these steps, each a function that returns one object:

- `request.make_request` checks what the caller asks for and returns a Request, with its Problem.
- `plan.make_plan` returns a Plan, with a Candidate for every method: its arguments, settings, statement and epsilons.
- `stages.tune` runs settings on held-out data, the later ones near the best, and returns a Tuning.
- `stages.choose` returns the best setting for each split, as rows.
- `stages.test` reruns that setting and scores it on the test data; a Comparison holds its rows.
- `figure.write` writes the table, the figures and the notes.
"""
