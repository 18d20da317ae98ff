package dev.berth.architecture;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Interfaces that one class alone implements, beside which it stands: the class says the same with
 * one file less. One that another package implements is a port: it turns an arrow round. So is one
 * that a test has a fake of.
 */
final class LoneInterfaces {
  private LoneInterfaces() {}

  /**
   * @param tests that implement a port for themselves
   * @param folders where the class files of both lie, for lambdas, which ArchUnit does not see
   */
  static List<String> of(JavaClasses classes, JavaClasses tests, Path... folders)
      throws IOException {
    Set<String> otherwise = new HashSet<>();
    for (Path folder : folders) {
      findLambdas(folder, otherwise);
    }
    tests.forEach(
        fake -> fake.getAllRawInterfaces().forEach(port -> otherwise.add(port.getName())));
    return classes.stream()
        .filter(
            type ->
                type.isInterface()
                    && !type.isAnnotation()
                    && !type.getSimpleName().equals("package-info"))
        .filter(type -> !type.getPackageName().startsWith("dev.berth.api"))
        .filter(type -> !type.getPackageName().startsWith("dev.berth.protocol.port"))
        .filter(type -> !otherwise.contains(type.getName()))
        .filter(LoneInterfaces::isLone)
        .map(
            type ->
                "%s: one implementation (expected: two, a lambda, a fake of a test, or one in another package; let the class stand for itself)"
                    .formatted(type.getName()))
        .sorted()
        .toList();
  }

  private static boolean isLone(JavaClass type) {
    List<JavaClass> by =
        type.getAllSubclasses().stream().filter(each -> !each.isInterface()).toList();
    return by.size() < 2
        && by.stream().allMatch(each -> each.getPackageName().equals(type.getPackageName()));
  }

  private static void findLambdas(Path folder, Set<String> found) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file :
          (Iterable<Path>) files.filter(f -> f.toString().endsWith(".class"))::iterator) {
        new ClassReader(Files.readAllBytes(file)).accept(visitor(found), ClassReader.SKIP_DEBUG);
      }
    }
  }

  private static ClassVisitor visitor(Set<String> found) {
    return new ClassVisitor(Opcodes.ASM9) {
      @Override
      public MethodVisitor visitMethod(
          int access, String name, String descriptor, String signature, String[] exceptions) {
        return new MethodVisitor(Opcodes.ASM9) {
          @Override
          public void visitInvokeDynamicInsn(
              String name, String descriptor, Handle bootstrap, Object... arguments) {
            found.add(Type.getReturnType(descriptor).getClassName());
          }
        };
      }
    };
  }
}
