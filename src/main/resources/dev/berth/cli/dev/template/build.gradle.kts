plugins {
  java
}

repositories {
  mavenLocal() // Berth
  mavenCentral()
}

val berthVersion = "@version@"

dependencies {
  compileOnly("dev.berth:berth-api:$berthVersion")
  compileOnly("dev.berth:berth-web:$berthVersion")
  testImplementation("dev.berth:berth-web:$berthVersion")
  implementation("com.fasterxml.jackson.core:jackson-databind:2.18.9")
  runtimeOnly("org.webjars:swagger-ui:5.34.1") // the page /docs
  testImplementation("dev.berth:berth-testkit:$berthVersion")
  testImplementation("org.junit.jupiter:junit-jupiter:5.14.4")
  testRuntimeOnly("org.junit.platform:junit-platform-launcher:1.14.4")
}

tasks.withType<JavaCompile> {
  options.release = 17
  options.encoding = "UTF-8"
  options.compilerArgs.add("-parameters")
}

tasks.test {
  useJUnitPlatform()
}

// The libraries that the application ships, beside its jar.
val libraries by tasks.registering(Sync::class) {
  from(configurations.runtimeClasspath)
  into(layout.buildDirectory.dir("libs/lib"))
}

tasks.assemble {
  dependsOn(libraries)
}
