"""Which compiled kernels a case launches, and how often in one call.

Seen in untimed passes only: the hooks are off while anything is timed. Launches of a tuner's trials are not the
case's own and are left out.
"""

from . import compat


class LaunchHook:
    """Records the launches of one pass after another."""

    def __init__(self, session):
        self.session = session
        self.counter = None

    def install(self, triton):
        """Find out whether launches can be seen."""
        try:
            self.counter = compat.LaunchCounter(triton)
            self.session.events.capability("launch_hook", True, self.counter.describe())
        except Exception as error:
            self.session.events.capability("launch_hook", False, error)

    def record(self, call):
        """Make one untimed call; returns its result and the launches `[(form, count)]` and `unknown`.

        Kernels are in the order of their first launch.
        """
        if self.counter is None:
            return call(), [], 1  # what it launched is unknown, which is not "nothing"
        counts, kernels, seen = {}, {}, [0, 0]

        def on_launch(kernel):
            seen[0] += 1
            if self.session.tuning_now():
                return
            counts[id(kernel)] = counts.get(id(kernel), 0) + 1
            kernels[id(kernel)] = kernel

        self.counter.switch_on(on_launch)
        try:
            result = call()
        finally:
            self.counter.switch_off()
        launches = [(self.session.compiles.form_of(kernels[key]), count) for key, count in counts.items()]
        return result, launches, max(0, self.counter.hooked - seen[0])

    def tell(self, case, launches, unknown):
        """Write the `launch` event of a case; forms of one id are added up."""
        launched = {}
        for form, count in launches:
            launched[form.id] = launched.get(form.id, 0) + count
        self.session.events.emit(
            "launch",
            side=self.session.side,
            case=case,
            compiled=[{"id": form_id, "launches": count} for form_id, count in launched.items()],
            unknown=unknown,
        )
