/**
 * Extension points for user policies: rankers of replicas, and autoscaling policies. A policy is a
 * pure function of its inputs. It holds no slot and sends no message, so a wrong policy affects
 * speed but never correctness.
 */
@NullMarked
package dev.berth.api.spi;

import org.jspecify.annotations.NullMarked;
