/**
 * Views and commands for operators: records shown by REST, command line and test kit, and ports
 * through which the admin server reads them and runs commands. Depends only on the protocol and the
 * API.
 */
@NullMarked
package dev.berth.view;

import org.jspecify.annotations.NullMarked;
