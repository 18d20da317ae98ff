package dev.berth.replica;

import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.threads.HandlerThreads;
import dev.berth.replica.threads.InstanceHandlerThreads;

/**
 * What the handlers of an instance are given from outside, so that a test can be their world.
 *
 * @param hooks runs what may block: making and stopping handlers, and every other hook of theirs
 * @param threads makes the threads of blocking handlers; {@link InstanceHandlerThreads} in a server
 * @param listener told of each replica's states
 */
public record HandlerPorts(
    HookThreads hooks, HandlerThreads.Factory threads, ReplicaListener listener) {

  public HandlerPorts(HookThreads hooks, HandlerThreads.Factory threads) {
    this(hooks, threads, ReplicaListener.NONE);
  }
}
