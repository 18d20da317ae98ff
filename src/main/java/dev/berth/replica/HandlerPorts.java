package dev.berth.replica;

import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.threads.HandlerThreads;
import dev.berth.replica.threads.InstanceHandlerThreads;

/**
 * Dependencies of an instance's handlers, which tests can replace.
 *
 * @param hooks runs code that may block: the creation, the stop and all other hooks of handlers
 * @param threads creates the threads of blocking handlers; {@link InstanceHandlerThreads} in a
 *     server
 * @param listener listener of each replica's states
 */
public record HandlerPorts(
    HookThreads hooks, HandlerThreads.HandlerThreadsFactory threads, ReplicaListener listener) {

  public HandlerPorts(HookThreads hooks, HandlerThreads.HandlerThreadsFactory threads) {
    this(hooks, threads, ReplicaListener.NONE);
  }
}
