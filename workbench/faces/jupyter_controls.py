"""A study's controls as ipywidgets: what is typed or dragged goes to the session, and what it refuses stands below."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as w
import numpy as np

from workbench.controls import Alias, Choice, Control, ControlError, Data, Flag, Integer, Number
from workbench.faces.markup import boxed
from workbench.session import Session
from workbench.typed_values import plain
from workbench.uploads import keep_upload

__all__ = ["AliasHandle", "ControlHandle", "Handle"]

SEGMENTS = 4
FINE = 1000


class Handle:
    """One control: its label, its widgets, its doc line, and the sentence when a value is refused.

    Args:
        name: control or alias that it sets.
        send: called with the value that was asked for; raises `ControlError`.
    """

    def __init__(self, name: str, label: str, symbol: str, unit: str, doc: str, send: Callable[[object], None]) -> None:
        self.name = name
        self.refusal = ""
        self._send = send
        self._quiet = False
        head = escape(label) + (f" <i>{escape(symbol)}</i>" if symbol and symbol != label else "")
        head += f' <span class="as-small">{escape(unit)}</span>' if unit else ""
        self._label = w.HTML(boxed(f'<span title="{escape(doc)}">{head}</span>'), layout=w.Layout(flex="1 1 auto"))
        self._said = w.HTML(layout=w.Layout(display="none", margin="0"))
        self._doc = w.HTML(boxed(f'<span class="as-small">{escape(doc)}</span>'), layout=w.Layout(margin="0"))

    def box(self, beside: list[w.Widget], below: list[w.Widget]) -> w.VBox:
        """The widgets of the handle as one."""
        row = w.HBox([self._label, *beside], layout=w.Layout(align_items="center", width="100%"))
        return w.VBox([row, *below, self._said, self._doc], layout=w.Layout(width="100%", margin="0 0 8px 0"))

    def listen(self, widget: w.Widget, read: Callable[[Any], object] = lambda value: value) -> None:
        """Send what is set in a widget."""

        def changed(change: Any) -> None:
            if not self._quiet:
                self.send(read(change["new"]))

        widget.observe(changed, "value")

    def send(self, value: object) -> None:
        """Ask for a value; when it is refused the sentence is shown here."""
        try:
            self._send(value)
        except ControlError as error:
            self.say(error.sentence if error.field == self.name else str(error))
        else:
            self.say("")

    def say(self, sentence: str) -> None:
        """Show a refusal below the control, or take it away."""
        self.refusal = sentence
        self._said.value = boxed(f'<span class="as-bad" role="alert">{escape(sentence)}</span>') if sentence else ""
        self._said.layout.display = None if sentence else "none"

    def quietly(self, set_values: Callable[[], None]) -> None:
        """Move widgets without sending what they hold."""
        self._quiet = True
        try:
            set_values()
        finally:
            self._quiet = False


class ControlHandle(Handle):
    """The handle of a control."""

    def __init__(self, session: Session, control: Control, send: Callable[[object], None]) -> None:
        super().__init__(control.name, control.label, control.symbol, control.unit, control.doc, send)
        self._control = control
        self._slider: Any = None
        self._field: Any
        beside: list[w.Widget] = []
        below: list[w.Widget] = []
        if isinstance(control, Flag):
            self._field = w.Checkbox(indent=False, layout=w.Layout(width="auto"))
            beside = [self._field]
        elif isinstance(control, Choice):
            few = len(control.options) <= SEGMENTS and sum(map(len, control.options.values())) < 28
            self._field = (w.ToggleButtons if few else w.Dropdown)(
                options=pairs(control), layout=w.Layout(width="100%", margin="0")
            )
            if few:
                self._field.style.button_width = "auto"
            below = [self._field]
        elif isinstance(control, Number):
            self._field = w.Text(continuous_update=False, layout=w.Layout(width="88px"))
            beside = [self._field]
            if self._positions(control) is not None:
                self._slider = w.FloatSlider(
                    min=0, max=1, step=1, readout=False, layout=w.Layout(width="100%", margin="0")
                )
                self._slider.style.handle_color = "#2a4bd0"
                self.listen(self._slider, self._from_slider)
                below = [self._slider]
        elif isinstance(control, Data):
            known = [f"sample:{name}" for name in control.samples]
            self._field = w.Combobox(
                options=known, ensure_option=False, continuous_update=False, layout=w.Layout(width="100%", margin="0")
            )
            upload = w.FileUpload(multiple=False, description="Upload", layout=w.Layout(width="100px"))
            upload.observe(lambda change: self._uploaded(change["new"]), "value")
            beside, below = [upload], [self._field]
        else:
            self._field = w.Text(continuous_update=False, layout=w.Layout(width="100%", margin="0"))
            below = [self._field]
        self.listen(self._field)
        self.widget = self.box(beside, below)
        self.show(session)

    def show(self, session: Session) -> None:
        """Show the session's value, under its limits now."""
        control = session.settings.controls[self.name]
        value = session.settings.values[self.name]

        def move() -> None:
            if isinstance(control, Choice):
                if self._field.options != pairs(control):
                    self._field.options = pairs(control)
                self._field.value = value
            elif isinstance(control, Flag):
                self._field.value = value
            elif isinstance(control, Number):
                self._field.value = plain(value)
                self._move_slider(control, float(value))
            else:
                self._field.value = control.text(value)

        self._control = control
        self.quietly(move)
        self.say("")

    @staticmethod
    def _positions(control: Number) -> int | None:
        """How many places a slider has; None where the range is too wide to drag through."""
        low, high = control.limits
        if control.log:
            return 200
        if isinstance(control, Integer):
            return int(high - low) if high - low <= FINE else None
        return round((high - low) / (control.step or (high - low) / 100)) if high - low < 1e5 else None

    def _move_slider(self, control: Number, value: float) -> None:
        if self._slider is None:
            return
        self._slider.max = max(1, self._positions(control) or 1)
        low, high = control.limits
        share = np.log(value / low) / np.log(high / low) if control.log else (value - low) / (high - low)
        self._slider.value = round(share * self._slider.max)  # between two places the browser would move it

    def _from_slider(self, place: float) -> object:
        assert isinstance(self._control, Number) and self._slider is not None
        low, high = self._control.limits
        share = place / self._slider.max
        if self._control.log:
            return float(f"{low * (high / low) ** share:.4g}") if 0 < share < 1 else (low, high)[round(share)]
        value = low + share * (high - low)
        return round(value) if isinstance(self._control, Integer) else min(max(float(f"{value:.10g}"), low), high)

    def _uploaded(self, files: Any) -> None:
        if not files:
            return
        try:
            source = keep_upload(files[0]["name"], bytes(files[0]["content"]))
        except ValueError as error:
            self.say(str(error))
            return
        self.send(f"sha256:{source.sha256}")


class AliasHandle(Handle):
    """The handle of another form of a control, such as a time constant."""

    def __init__(self, session: Session, alias: Alias, send: Callable[[object], None]) -> None:
        super().__init__(alias.name, alias.symbol or alias.name, "", alias.unit, alias.doc, send)
        self._field = w.Text(continuous_update=False, layout=w.Layout(width="88px"))
        self.listen(self._field)
        self.widget = self.box([self._field], [])
        self._doc.layout.display = "none"
        self.show(session)

    def show(self, session: Session) -> None:
        """Show the value; empty where the control's value has none in this form."""
        try:
            value = f"{session.value(self.name):.6g}"
        except (ValueError, ZeroDivisionError, OverflowError):
            value = ""

        def move() -> None:
            self._field.value = value

        self.quietly(move)
        self.say("")


def pairs(control: Choice) -> tuple[tuple[str, str], ...]:
    return tuple((text, name) for name, text in control.options.items())
