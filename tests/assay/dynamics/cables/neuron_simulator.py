"""The same cells in NEURON: sections from points, `hh` or `pas`, a current clamp, a fixed step."""

import numpy as np


class Neuron:
    """A neuron of sections in NEURON; nothing outlives `close`."""

    def __init__(self, sections, longest, *, Ra=100.0, cm=1.0, hh=None, pas=None, exact_rates=True):
        from neuron import h

        h.load_file("stdrun.hoc")
        self.h, self.sections = h, []
        for number, one in enumerate(sections):
            made = h.Section(name=f"s{number}")
            for (x, y, z), r in zip(one.xyz, one.radius, strict=True):
                made.pt3dadd(float(x), float(y), float(z), 2 * float(r))
            if one.parent >= 0:
                made.connect(self.sections[one.parent](0.5 if one.middle else 1), 0)
            elif number:
                made.connect(self.sections[0](0), 0)
            made.nseg = max(1, int(np.ceil(one.length / longest - 1e-9)))
            made.Ra, made.cm = Ra, cm
            if hh is not None:
                made.insert("hh")
                made.gnabar_hh, made.gkbar_hh, made.gl_hh = hh
                made.el_hh, made.ena, made.ek = -54.3, 50.0, -77.0
            if pas is not None:
                made.insert("pas")
                made.g_pas, made.e_pas = pas
            self.sections.append(made)
        if hh is not None:
            h.usetable_hh = 0 if exact_rates else 1
        h.celsius = 6.3
        self.clamps = []

    def segments(self):
        """Segments in the order of compartments: section by section."""
        return [segment for section in self.sections for segment in section]

    def clamp(self, segment, amplitude, begin, length):
        made = self.h.IClamp(segment)
        made.amp, made.delay, made.dur = amplitude, begin, length
        self.clamps.append(made)

    def run(self, dt, steps, *, start=-65.0, crank_nicolson=False):
        """(T + 1, segments) mV."""
        h = self.h
        h.secondorder = 2 if crank_nicolson else 0
        h.cvode_active(0)
        kept = [h.Vector().record(s._ref_v) for s in self.segments()]
        h.dt = dt
        h.steps_per_ms = 1 / dt
        h.finitialize(start)
        for _ in range(steps):
            h.fadvance()
        return np.stack([np.array(v)[: steps + 1] for v in kept], 1)

    def close(self):
        self.clamps.clear()
        self.sections.clear()
