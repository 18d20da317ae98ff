/**
 * Decides which replica runs a request, and when: admission, the waiter queue, choose, dispatch,
 * and what is known of remote replicas. The queue of a deployment is shared by all event loops of
 * the instance; pending tables and caches belong to one loop each. Nothing runs above a replica's
 * slots, no eligible waiter stands beside a free slot, and grants are first in, first out.
 *
 * <p>Source: Ray #63254 (choose / dispatch) and Ray Serve's request router; exact slots replace its
 * probes of queue length.
 */
@NullMarked
package dev.berth.routing;

import org.jspecify.annotations.NullMarked;
