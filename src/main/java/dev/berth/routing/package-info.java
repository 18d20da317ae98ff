/**
 * Routes requests to replicas: admission, the waiter queue, choose, dispatch, and the known state
 * of remote replicas. All event loops of the instance share the queue of a deployment; pending
 * tables and caches are confined to one loop each. No replica runs more requests than it has slots,
 * no slot stays free while an eligible waiter exists, and grants are first in, first out.
 *
 * <p>Source: Ray #63254 (choose / dispatch) and Ray Serve's request router; exact slots replace its
 * probes of queue length.
 */
@NullMarked
package dev.berth.routing;

import org.jspecify.annotations.NullMarked;
