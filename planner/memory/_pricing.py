"""The price of a forward: its required peak and what it retains (design, section 9).

Formulas are numbered, and a number never changes its meaning: a prediction in the log can be made again, and
a change is a new number with reviews of its own. Formula 1 stopped counting the learned rate past its window
and knew only the smaller expert floor: growing a refused request by one token could admit it. It is kept to
replay what it predicted and to show the difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from planner.memory._experts import ExpertFacts, expert_bytes_per_token, fc2_floor_bytes, largest_layer_bytes
from planner.memory._integers import ceil_div, with_margin
from planner.memory._profile import ForwardSize, MemoryProfile

WINDOW: Final = 8
"""A plan may widen up to so many times the largest forward seen."""

NEAR_SIZE: Final = 2
"""A forward is near an observed one up to this factor in packed tokens, either way ..."""

NEAR_SHARING: Final = (5, 4)
"""... and this factor in its sharing ratio, either way."""

Formula = Literal[1, 2]
CURRENT_FORMULA: Final[Formula] = 2
KNOWN_FORMULAS: Final[Mapping[int, Formula]] = MappingProxyType({1: 1, 2: 2})


@dataclass(frozen=True, slots=True)
class ModelFloor:
    """What the model's shape alone says of a forward, per token.

    Args:
        experts: the routed-expert layers' facts.
        other_layers: working sets of the other layers, in bytes per packed token.
        output_bytes: bytes of one prediction that is handed back.
        token_ranks: ranks that share the packed tokens evenly.
    """

    experts: tuple[ExpertFacts, ...] = ()
    other_layers: tuple[int, ...] = ()
    output_bytes: int = 0
    token_ranks: int = 1

    def bytes_per_token(self, formula: Formula = CURRENT_FORMULA) -> int:
        """The largest working set of any layer, in bytes per packed token."""
        working_set = fc2_floor_bytes if formula == 1 else expert_bytes_per_token
        return largest_layer_bytes((*map(working_set, self.experts), *self.other_layers))

    def peak_bytes(self, size: ForwardSize, formula: Formula = CURRENT_FORMULA) -> int:
        """What the forward holds at the least: its largest layer, or its outputs where they are more."""
        tokens = ceil_div(size.packed_tokens, self.token_ranks)
        return max(tokens * self.bytes_per_token(formula), size.outputs * self.output_bytes)


@dataclass(frozen=True, slots=True)
class Price:
    """What a forward is charged.

    Args:
        required_bytes: predicted peak.
        retained_bytes: predicted to be held until the backward; at most the peak.
    """

    required_bytes: int
    retained_bytes: int


def combined_bytes(prices: Sequence[Price]) -> int:
    """What forwards that run one after another require: `sum retained + max(required - retained)`."""
    retained = sum(price.retained_bytes for price in prices)
    return retained + max((price.required_bytes - price.retained_bytes for price in prices), default=0)


@dataclass(frozen=True, slots=True)
class Pricing:
    """How the forwards of one signature are priced.

    Under formula 2 every estimate is a whole number that never falls when packed tokens, logical tokens,
    outputs or layers grow.

    Args:
        floor: the model's.
        profile: what was learned; None before the first observation.
        grad: whether a backward follows. Without one a forward keeps its outputs and nothing else: that needs
            no trust.
        formula: which estimate is made.
    """

    floor: ModelFloor
    profile: MemoryProfile | None = None
    grad: bool = True
    formula: Formula = CURRENT_FORMULA

    def priced_tokens(self, size: ForwardSize) -> int:
        """Tokens that the learned rate is charged for; the packed ones without a profile."""
        return self.profile.priced_tokens(size) if self.profile else size.packed_tokens

    def required_bytes(self, size: ForwardSize) -> int:
        """Predicted peak: the larger of floor and learned estimate, and a tenth."""
        peak = self.floor.peak_bytes(size, self.formula)
        if self.profile and (self.formula != 1 or self.may_widen(size)):
            peak = max(peak, self.profile.peak_bytes(self.profile.priced_tokens(size)))
        return with_margin(peak)

    def price(self, size: ForwardSize) -> Price:
        """Charge a forward; what it retains is the whole peak wherever the learned number is not trusted."""
        required = self.required_bytes(size)
        outputs = size.outputs * self.floor.output_bytes
        if not self.grad:
            return Price(required, min(required, with_margin(outputs)))
        if not self.profile or not self.trusts_retained(size):
            return Price(required, required)
        # Below half the observed size a fixed part would weigh more than the rate says.
        tokens = max(self.profile.priced_tokens(size), ceil_div(self.profile.largest_tokens, NEAR_SIZE))
        retained = max(self.profile.retained_bytes(tokens), outputs)
        return Price(required, min(required, with_margin(retained)))

    def may_widen(self, size: ForwardSize) -> bool:
        """Whether a plan may grow to this size of its own accord: within 8 times the largest forward seen."""
        profile = self.profile
        return profile is not None and profile.priced_tokens(size) <= WINDOW * profile.largest_tokens

    def trusts_retained(self, size: ForwardSize) -> bool:
        """Whether a forward near the observed one, in size and sharing ratio, has at least as many tokens.

        Asking for a near forward that covers this one, instead of for this one to be near, keeps the charge
        from falling when a request grows: a smaller forward retains no more than the one that covers it.
        """
        if self.profile is None:
            return False
        over, under = NEAR_SHARING
        return (
            size.packed_tokens <= NEAR_SIZE * self.profile.largest_packed
            and size.logical_tokens * under <= NEAR_SIZE * self.profile.largest_logical * over
        )
