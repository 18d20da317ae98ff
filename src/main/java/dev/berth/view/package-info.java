/**
 * Views and commands of operators: the records that REST, command line and test kit show, and the
 * ports through which the admin server reads them and gives commands. Only the protocol and the API
 * are below.
 */
@NullMarked
package dev.berth.view;

import org.jspecify.annotations.NullMarked;
