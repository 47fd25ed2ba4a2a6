import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DockerfileParser } from 'dockerfile-ast';
import { z } from 'zod';
import { type CommandEnd, mustRun, runCommand } from '../servers/command.ts';
import { type DockerEngine, startDockerEngine } from '../servers/docker-engine.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const inspected = z.object({
  Size: z.number(),
  Config: z.object({
    User: z.string(),
    Labels: z.record(z.string(), z.string()),
    Healthcheck: z.object({ Test: z.tuple([z.literal('CMD'), z.string(), z.string()]) }),
  }),
});

/** The product's image, built from the Dockerfile by a real engine. */
export class BuiltImage {
  readonly name = 'holdfast:under-test';
  readonly labels: Readonly<Record<string, string>>;
  readonly healthTest: ['CMD', string, string];
  readonly #engine: DockerEngine;

  private constructor(engine: DockerEngine, { Config }: z.output<typeof inspected>) {
    this.#engine = engine;
    this.labels = Config.Labels;
    this.healthTest = Config.Healthcheck.Test;
  }

  static async build(buildArguments: Readonly<Record<string, string>>): Promise<BuiltImage> {
    const engine = await startDockerEngine(baseImage());
    try {
      const given = Object.entries(buildArguments).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
      const words = ['build', '--quiet', '--network=host', ...given, '--tag', 'holdfast:under-test', ROOT];
      await mustRun('docker', words, { env: engine.env });
      const [seen] = z
        .array(inspected)
        .parse(JSON.parse(await mustRun('docker', ['image', 'inspect', 'holdfast:under-test'], { env: engine.env })));
      if (seen === undefined) throw new Error('The image was not built.');
      // testcontainers looks for its engine in the environment; its helper image cannot be pulled here.
      Object.assign(process.env, engine.env, { TESTCONTAINERS_RYUK_DISABLED: 'true' });
      return new BuiltImage(engine, seen);
    } catch (error) {
      await engine.stop();
      throw error;
    }
  }

  docker(...words: readonly string[]): Promise<CommandEnd> {
    return runCommand('docker', words, { env: this.#engine.env });
  }

  /** Runs it to its end, as `docker run` does. */
  run(options: readonly string[], words: readonly string[] = []): Promise<CommandEnd> {
    return this.docker('run', '--rm', '--read-only', ...options, this.name, ...words);
  }

  async remove(): Promise<void> {
    // The next build uses the layers below again.
    await this.docker('image', 'rm', '--force', '--no-prune', this.name);
    await this.#engine.stop();
  }
}

function baseImage(): string {
  const dockerfile = DockerfileParser.parse(readFileSync(`${ROOT}/Dockerfile`, 'utf8'));
  const [argument] = dockerfile.getInitialARGs();
  return argument?.getProperty()?.getValue() ?? '';
}
