import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from './clients.ts'
import { runProgram } from './run-program.ts'

/** Installs the packages of a client below the cache, unless they are there; returns its folder. */
export async function installClient(cache: string, { packages }: Client): Promise<string> {
  const folder = join(cache, packages.join('+').replaceAll(/[^\w.+-]/g, '_'))
  const mark = join(folder, 'installed')
  if (existsSync(mark)) return folder
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await runProgram('npm', ['install', '--no-audit', '--no-fund', '--silent', ...packages], {
    cwd: folder,
    env: process.env,
  })
  writeFileSync(mark, '')
  return folder
}
