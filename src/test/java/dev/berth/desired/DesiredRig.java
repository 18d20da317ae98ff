package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.Jar;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.desired.DesiredApplication.EarlierRevision;
import dev.berth.view.ApplicationStatus;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A state, and the steps that make another of it. */
abstract class DesiredRig {
  /** All since the first, those that were applied by {@link #done}. */
  final List<DesiredChange> changes = new ArrayList<>();

  DesiredState state = DesiredState.EMPTY;

  ApplicationSpec wanted(String says) {
    return wanted(says, "{\"says\":\"" + says + "\"}");
  }

  static ApplicationSpec wanted(String says, String config) {
    return new ApplicationSpec(
        "/" + says, config, List.of(new Jar(says + ".jar", says)), true, says);
  }

  Map<String, ApplicationSpec> all(String... namesAndWords) {
    Map<String, ApplicationSpec> all = new LinkedHashMap<>();
    for (int i = 0; i < namesAndWords.length; i += 2) {
      all.put(namesAndWords[i], wanted(namesAndWords[i + 1]));
    }
    return all;
  }

  /** Of a change that there is. */
  DesiredChange done(@Nullable DesiredChange change) {
    assertThat(change).isNotNull();
    changes.add(change);
    state = state.with(List.of(change));
    return change;
  }

  void doneIfAny(@Nullable DesiredChange change) {
    if (change != null) {
      done(change);
    }
  }

  DesiredApplication application(String name) {
    return Objects.requireNonNull(state.find(name), name);
  }

  void ran(String name) {
    mark(name, null);
  }

  void failed(String name) {
    mark(name, "no model");
  }

  private void mark(String name, @Nullable String failure) {
    doneIfAny(state.mark(List.of(announce(name, application(name).revision(), failure))));
  }

  /** A revision runs; or failed, for a reason. */
  static Announce announce(String application, long revision, @Nullable String failure) {
    boolean runs = failure == null;
    return new Announce(
        application,
        revision,
        runs ? ApplicationStatus.RUNNING : ApplicationStatus.DEPLOY_FAILED,
        runs ? "" : failure,
        runs,
        Set.of());
  }

  /** What an operator who names no revision goes back to; null when there is nothing. */
  @Nullable DesiredChange rollback(String name) {
    EarlierRevision to = state.history.rollbackTo(application(name));
    return to == null ? null : state.rollback(name, to, 5);
  }

  /** As it is written and read. */
  static DesiredChange again(DesiredChange change) {
    return DesiredChange.of(change.index(), new JsonObject(change.toJson().encode()));
  }
}
