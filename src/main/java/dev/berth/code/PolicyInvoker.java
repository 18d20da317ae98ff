package dev.berth.code;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.api.spi.AutoscalingPolicy.Answer;
import dev.berth.api.spi.AutoscalingPolicy.Context;
import dev.berth.config.AutoscalingOptions;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.PolicyAnswered;
import dev.berth.controller.PolicySource;
import dev.berth.controller.autoscaling.PolicyAnswer;
import dev.berth.controller.autoscaling.PolicyReply;
import dev.berth.protocol.UserFailure;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.replica.hooks.ContextClassLoaderScope;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.hooks.InterruptibleCall;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Caller of the autoscaling policies of applications, which are user code. Confined to the control
 * loop.
 *
 * <p><b>Concurrency.</b> A policy runs on a hook thread of its application, one call at a time.
 * Requests during a call are skipped. After {@link #MAX_SKIPPED_REQUESTS} skipped requests the call
 * is interrupted and counts as failed. Therefore a policy that ignores interrupts occupies one
 * thread, not all.
 *
 * <p><b>Lifetime.</b> The first request creates the policy. A request with other code or arguments
 * creates a new one.
 */
public final class PolicyInvoker {
  /**
   * Maximum number of skipped requests. The controller sends one request per second, so this is the
   * timeout of a policy in seconds, including the wait for a thread.
   */
  static final int MAX_SKIPPED_REQUESTS = 10;

  /** Maximum length of a failure in a decision, in characters; the log has the full text. */
  private static final int MAX_SHOWN_CHARS = 300;

  private static final PolicyReply NOTHING = new PolicyReply(PolicyAnswer.NOTHING, null);
  private static final Logger LOG = LoggerFactory.getLogger(PolicyInvoker.class);

  private final HookThreads threads;
  private final LoopExecutor control;
  private final BuildCache builds;
  private final Consumer<ControllerEvent> controller;
  private final LongSupplier nanoClock;
  private final Map<PolicySource.PolicyScope, ActivePolicy> all = new HashMap<>();

  /**
   * Creates a caller without policies.
   *
   * @param controller receives the replies of policies
   * @param nanoClock also read by hook threads
   */
  public PolicyInvoker(
      HookThreads threads,
      LoopExecutor control,
      BuildCache builds,
      Consumer<ControllerEvent> controller,
      LongSupplier nanoClock) {
    this.threads = threads;
    this.control = control;
    this.builds = builds;
    this.controller = controller;
    this.nanoClock = nanoClock;
  }

  /** Calls a policy, and sends its reply to the controller. */
  public void invoke(AskPolicy command) {
    assert control.isHere();
    PolicySource source = command.source();
    ActivePolicy held = all.get(source.scope());
    if (held != null && !held.source.equals(source)) {
      held.call.interrupt(); // its reply is no longer needed
      held = null;
    }
    if (held != null && held.underWay) {
      held.skip(command.contexts());
      return;
    }
    String application = source.scope().application();
    LoadedApplication code = builds.acquire(application, source.build());
    if (code == null) {
      return; // another build is desired, and its request follows
    }
    ActivePolicy asked = held == null ? new ActivePolicy(source, code) : held;
    all.put(source.scope(), asked);
    asked.underWay = true;
    asked.begunNanos = nanoClock.getAsLong();
    try {
      threads.run(application, HookThreads.HookKind.POLICY, () -> asked.decide(command.contexts()));
    } catch (RejectedExecutionException noThread) {
      asked.end(failedReplies(command.contexts(), noThread), noThread);
    }
  }

  /**
   * Interrupts the calls that compute the replicas of a removed deployment: their replies are no
   * longer needed.
   */
  public void interrupt(DeploymentId deployment) {
    assert control.isHere();
    for (ActivePolicy held : all.values()) {
      PolicySource.PolicyScope scope = held.source.scope();
      if (scope.deployment() == null
          ? scope.application().equals(deployment.application())
          : scope.deployment().equals(deployment)) {
        held.call.interrupt();
      }
    }
  }

  /** Removes the policies of code that is no longer used. */
  public void onBuildClosed(LoadedApplication code) {
    assert control.isHere();
    all.values().removeIf(held -> held.code == code);
  }

  private static Map<DeploymentId, PolicyReply> failedReplies(
      List<Context> contexts, Throwable thrown) {
    String why = StartFailedException.describe(thrown);
    PolicyReply reply =
        PolicyReply.ofFailure(why.substring(0, Math.min(why.length(), MAX_SHOWN_CHARS)));
    Map<DeploymentId, PolicyReply> all = new HashMap<>();
    contexts.forEach(each -> all.put(each.deployment(), reply));
    return all;
  }

  /** A policy and its current call. */
  private final class ActivePolicy {
    final PolicySource source;
    final LoadedApplication code;
    private @Nullable AutoscalingPolicy policy; // confined to the current call's thread
    final InterruptibleCall call = new InterruptibleCall(); // reused by all calls
    boolean underWay;
    private int passedOver; // during the current call
    private boolean failing;
    private volatile long begunNanos; // time of the request, then of its execution

    ActivePolicy(PolicySource source, LoadedApplication code) {
      this.source = source;
      this.code = code;
    }

    // --- hook thread ---

    void decide(List<Context> contexts) {
      begunNanos = nanoClock.getAsLong();
      Map<DeploymentId, PolicyReply> replies = new HashMap<>();
      Throwable thrown =
          call.run(
              begunNanos,
              () ->
                  replies.putAll(
                      ContextClassLoaderScope.call(
                          code.classLoader(), () -> replies(policy(), contexts))));
      end(thrown == null ? replies : failedReplies(contexts, thrown), thrown);
    }

    private AutoscalingPolicy policy() throws Exception {
      AutoscalingPolicy made = policy;
      if (made == null) {
        var arguments = source.settings().get(AutoscalingOptions.POLICY_KWARGS);
        made = code.make(AutoscalingPolicy.class, source.className(), arguments);
        policy = made;
      }
      return made;
    }

    private Map<DeploymentId, PolicyReply> replies(AutoscalingPolicy of, List<Context> contexts) {
      Map<DeploymentId, Context> asked = new LinkedHashMap<>();
      contexts.forEach(each -> asked.put(each.deployment(), each));
      DeploymentId one = source.scope().deployment();
      Map<DeploymentId, Answer> answers =
          one == null
              ? of.decideAll(asked)
              : Collections.singletonMap(one, of.decide(contexts.get(0)));
      Map<DeploymentId, PolicyReply> replies = new HashMap<>();
      for (DeploymentId id : asked.keySet()) {
        boolean said = answers.containsKey(id);
        replies.put(id, said ? reply(answers.get(id)) : NOTHING);
      }
      return replies;
    }

    private PolicyReply reply(@Nullable Answer answer) {
      PolicyAnswer said = PolicyAnswer.of(answer);
      try {
        boolean fit = answer != null && said.failure() == null;
        return new PolicyReply(
            said, fit ? PolicyState.write(source.className(), answer.state()) : null);
      } catch (IllegalArgumentException wrong) {
        return PolicyReply.ofFailure(String.valueOf(wrong.getMessage()));
      }
    }

    private void end(Map<DeploymentId, PolicyReply> replies, @Nullable Throwable thrown) {
      builds.release(code);
      PolicyAnswered answered =
          new PolicyAnswered(source, replies, nanoClock.getAsLong() - begunNanos);
      control.execute(() -> onCompleted(answered, thrown));
    }

    // --- control loop ---

    private void onCompleted(PolicyAnswered answered, @Nullable Throwable thrown) {
      boolean late = passedOver >= MAX_SKIPPED_REQUESTS;
      underWay = false;
      passedOver = 0;
      if (!late) {
        notifyController(answered, thrown);
      }
    }

    void skip(List<Context> contexts) {
      if (++passedOver == MAX_SKIPPED_REQUESTS) {
        call.interrupt();
        var replies = failedReplies(contexts, new TimeoutException("no result within 10 s"));
        notifyController(
            new PolicyAnswered(source, replies, nanoClock.getAsLong() - begunNanos), null);
      }
    }

    private void notifyController(PolicyAnswered answered, @Nullable Throwable thrown) {
      String failure =
          answered.replies().values().stream()
              .map(reply -> reply.answer().failure())
              .filter(Objects::nonNull)
              .findFirst()
              .orElse(null);
      if (failure != null && !failing) {
        Throwable shown = thrown == null ? null : UserFailure.legible(thrown);
        LOG.warn("autoscaling policy of {} failed: {}", source.scope(), failure, shown);
      }
      failing = failure != null;
      controller.accept(answered);
    }
  }
}
