"""The splits and shadows in force: those of the models' configurations, and an operator's in their place."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.repository.config import ModelConfig
from ascend_ep.serving.repository.repository import Repository
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.request import Array, InferRequest

from .shadow import Shadow, ShadowRule
from .split import Split


class TrafficRules:
    """What an operator sets holds until it is cleared, over reloads; then the configuration does again."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._splits: dict[str, Split] = {}
        self._shadows: dict[str, Shadow] = {}
        #: of configurations: made when they are first needed
        self._configured: dict[str, tuple[ModelConfig, Split | None]] = {}
        self._configured_shadows: dict[str, Shadow] = {}

    def choose(self, request: InferRequest) -> LoadedVersion:
        """The version that answers a request: the one it names, else by the split, else the latest. Raises
        AscendError as Repository.version does."""
        latest = self._repository.version(request.model, request.version)
        if request.version or not (self._splits or latest.config.split):
            return latest
        split = self.split(request.model)
        if split is None:
            return latest
        versions = self._repository.model(request.model).versions
        chosen = split.choose(request.key, versions)
        return latest if chosen is None else versions[chosen]

    def answered(self, version: LoadedVersion, job: Job, outputs: Sequence[Array]) -> None:
        """A request was answered: it may be copied to the shadow."""
        if not self._shadows and version.config.shadow is None:
            return
        shadow = self.shadow(version.model) if version.model in self._repository.models else None
        if shadow is not None:
            model = self._repository.models.get(version.model)
            target = None if model is None else model.versions.get(shadow.rule.version)
            shadow.copy(version, target, job, outputs)

    # --- for operators ------------------------------------------------------------------------

    def split(self, name: str) -> Split | None:
        """Raises AscendError E50002 when there is no such model."""
        set_by_operator = self._splits.get(name)
        if set_by_operator is not None:
            return set_by_operator
        config = self._config(name)
        made, split = self._configured.get(name, (None, None))
        if made is not config:
            split = Split(name, dict(config.split)) if config.split else None
            self._configured[name] = (config, split)
        return split

    def shadow(self, name: str) -> Shadow | None:
        """Raises AscendError E50002 when there is no such model."""
        set_by_operator = self._shadows.get(name)
        if set_by_operator is not None:
            return set_by_operator
        config = self._config(name)
        rule = None if config.shadow is None else ShadowRule(config.shadow, config.shadow_share)
        made = self._configured_shadows.get(name)
        if made is not None and made.rule != rule:
            made.close()
            del self._configured_shadows[name]
            made = None
        if made is None and rule is not None:
            made = self._configured_shadows[name] = Shadow(rule)
        return made

    def set_split(self, split: Split | None, name: str) -> None:
        """None: the configuration's again. Raises AscendError E50002."""
        self._repository.model(name)
        if split is None:
            self._splits.pop(name, None)
        else:
            self._splits[name] = split

    def set_shadow(self, rule: ShadowRule | None, name: str) -> None:
        """As set_split; counting begins anew."""
        self._repository.model(name)
        old = self._shadows.pop(name, None)
        if old is not None:
            old.close()
        if rule is not None:
            self._shadows[name] = Shadow(rule)

    @property
    def shadows(self) -> dict[str, Shadow]:
        """Those in force, by model."""
        return self._configured_shadows | self._shadows

    def close(self) -> None:
        for shadow in (*self._shadows.values(), *self._configured_shadows.values()):
            shadow.close()

    def _config(self, name: str) -> ModelConfig:
        latest = self._repository.model(name).latest
        return ModelConfig() if latest is None else latest.config
