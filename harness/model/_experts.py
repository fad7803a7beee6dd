"""Routed SwiGLU experts: permute, dispatch, grouped projections, weighted combine (Shazeer et al. 2017).

Adapters sit on every expert's two projections, one pair for each expert, and the router is frozen: that is
what the field trains when it adapts experts (a shared adapter would see all experts' tokens, an adapted
router would move tokens between layouts of one step and the next).

Stages are labelled for a profiler: `expert.permute`, `expert.fc1`, `expert.activation`, `expert.fc2` and
`expert.combine`; inside the second and fourth `expert.fc1.sum` and `expert.fc2.sum`, where an adapter's
output is added.

Alive together at `expert.fc2.sum`, where one rank holds several experts and neither tokens nor widths are
split, are seven buffers of N = tokens * K rows (design, section 9), I expert and H model width:

| buffer | width | held by |
|---|---|---|
| permuted tokens (before dispatch) | H | the layer's frame |
| tokens by local expert | H | backward of FC1's adapter |
| gate and value, FC1's sum | 2I | backward of the activation |
| activation | I | backward of FC2's adapter |
| FC2's frozen product, its adapter's product, their sum | 3H | the sum |

Without autograd the frames of the calls hold the same seven.
"""

import torch
import torch.nn.functional as functional
from torch import Tensor, nn
from torch.profiler import record_function

from harness._comm import Groups, exchange_rows, reduce, replicate
from harness.model._config import ModelConfig
from harness.model._dispatch import Dispatch, dispatch
from harness.model._grouped import GroupedLora
from harness.model._mlp import SwiGlu
from harness.model._router import route
from harness.model._swiglu import swiglu
from harness.model._weights import WeightSource, section_index


class ExpertProjections(nn.Module):
    """The experts of one rank: [received rows, hidden] to the same, partial over expert-tensor ranks."""

    def __init__(self, source: WeightSource, name: str, config: ModelConfig, groups: Groups) -> None:
        super().__init__()
        ep, etp, width = groups.ep, groups.etp, config.moe_ffn
        held = config.moe_experts // ep.size
        common = {
            "chosen": range(ep.rank * held, (ep.rank + 1) * held),
            "rank": config.lora_rank,
            "alpha": config.lora_alpha,
        }
        self.fc1 = GroupedLora(
            source,
            f"{name}.fc1",
            inputs=config.hidden,
            outputs=2 * width,
            split="column",
            index=section_index([width, width], etp.size, [etp.rank]),
            label="expert.fc1",
            **common,
        )
        self.fc2 = GroupedLora(
            source,
            f"{name}.fc2",
            inputs=width,
            outputs=config.hidden,
            split="row",
            index=section_index([width], etp.size, [etp.rank]),
            label="expert.fc2",
            **common,
        )

    def forward(self, received: Tensor, way: Dispatch) -> Tensor:
        """Rows as they came, by rank and expert; back in that order."""
        tokens = received if way.by_local is None else way.by_local.apply(received)
        both = self.fc1(tokens, way.sizes)
        with record_function("expert.activation"):
            active = swiglu(both)
        output = self.fc2(active, way.sizes)
        return output if way.by_local is None else way.by_local.undo(output)


class Experts(nn.Module):
    """[local tokens, hidden] to the same shape, summed over tensor-parallel ranks.

    Tokens are the same on all tensor-parallel ranks: each part of `etp` of these ranks takes its share of
    them, and experts are spread over `ep` ranks among all parts. Where that leaves replicas of an expert,
    their gradients are summed by the step.
    """

    def __init__(self, source: WeightSource, name: str, config: ModelConfig, groups: Groups) -> None:
        super().__init__()
        self.config, self.groups = config, groups
        self.register_buffer(
            "router",
            source.normal(f"{name}.router", (config.moe_experts, config.hidden), config.hidden**-0.5),
        )
        self.experts = ExpertProjections(source, f"{name}.experts", config, groups)
        self.shared = (
            SwiGlu(source, f"{name}.shared", config, groups, width=config.moe_shared_ffn)
            if config.moe_shared_ffn
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """X [local tokens, hidden]."""
        x = replicate(x, self.groups.tp)
        before, share, after = self._share(x.shape[0])
        routed = self._routed(x.split([before, share, after])[1] if before or after else x)
        if before or after:
            routed = functional.pad(routed, (0, 0, before, after))
        return reduce(routed if self.shared is None else routed + self.shared.partial(x), self.groups.tp)

    def _share(self, tokens: int) -> tuple[int, int, int]:
        """How many tokens lie before, in and after this rank's share."""
        tp, etp = self.groups.tp, self.groups.etp
        parts, part = tp.size // etp.size, tp.rank // etp.size
        first, end = part * tokens // parts, (part + 1) * tokens // parts
        return first, end - first, tokens - end

    def _routed(self, x: Tensor) -> Tensor:
        """Tokens of this rank through their experts, wherever these are."""
        with record_function("expert.permute"):
            routing = route(x, self.router, self.config.moe_topk)
            way = dispatch(routing.expert, self.config.moe_experts, self.groups.ep)
            permuted = way.by_expert.apply(x, copies=self.config.moe_topk)
        received = exchange_rows(permuted, self.groups.ep, way.send, way.receive)
        output = exchange_rows(self.experts(received, way), self.groups.ep, way.receive, way.send)
        with record_function("expert.combine"):
            choices = way.by_expert.undo(output).unflatten(0, (-1, self.config.moe_topk))
            return torch.bmm(routing.weight.unsqueeze(1), choices).squeeze(1)
