import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from './clients.ts'
import type { Surroundings } from './run-client.ts'
import { runProgram } from './run-program.ts'

interface Generator {
  /** The name of its program in `programs/generated`, too. */
  name: string
  packages: readonly string[]
  command: string
  /** Arguments that write the client into `generated` from `openapi.json`; the folder may get a file of settings. */
  args(baseUrl: string, folder: string): Promise<readonly string[]> | readonly string[]
}

const TYPESCRIPT = 'typescript@5.9.3'

const GENERATORS: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    packages: ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', TYPESCRIPT],
    command: 'openapi-typescript',
    args: () => ['openapi.json', '--output', 'generated.ts'],
  },
  {
    name: 'hey-api',
    packages: ['@hey-api/openapi-ts@0.99.0', TYPESCRIPT],
    command: 'openapi-ts',
    args: () => ['--input', 'openapi.json', '--output', 'generated'],
  },
  {
    name: 'orval',
    packages: ['orval@8.38.0', TYPESCRIPT],
    command: 'orval',
    async args(baseUrl, folder) {
      // By default, it joins the types of all bodies of a request.
      const override = { contentType: { include: ['application/json', '*/*'] } }
      const output = { target: 'generated.ts', client: 'fetch', baseUrl, override }
      const config = { slipway: { input: 'openapi.json', output } }
      await writeFile(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(config)}\n`)
      return ['--config', 'orval.config.mjs']
    },
  },
]

/** Clients that generators make from the OpenAPI document of the service: they compile under `strict`, and publish. */
export const GENERATED_CLIENTS: readonly Client[] = GENERATORS.map((generator) => ({
  name: generator.name,
  packages: generator.packages,
  signsIn: 'with an API key',
  calls: '`createSite`, `uploadFile`, `finalizeVersion`',
  run: (surroundings) => runGenerated(generator, surroundings),
}))

async function runGenerated(
  { name, command, args }: Generator,
  { baseUrl, folder, env, key }: Surroundings,
): Promise<string> {
  const cwd = join(folder, 'program')
  await rm(cwd, { recursive: true, force: true })
  await mkdir(cwd)
  // Generated imports have no extensions.
  await writeFile(join(cwd, 'package.json'), '{ "type": "commonjs" }')
  const document = await fetch(`${baseUrl}/api/openapi.json`)
  await writeFile(join(cwd, 'openapi.json'), await document.text())
  await runProgram(command, await args(baseUrl, cwd), { cwd, env })
  await copyFile(join(import.meta.dirname, 'programs/generated', `${name}.ts`), join(cwd, 'main.ts'))
  await runProgram('tsc', ['--strict', ...COMPILER_OPTIONS, 'main.ts'], { cwd, env })
  const output = await runProgram(process.execPath, ['main.js', baseUrl, await key()], { cwd, env })
  return output.trim()
}

const COMPILER_OPTIONS = ['--target', 'es2022', '--lib', 'es2023,dom,dom.iterable', '--module', 'nodenext']
