import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { memoryFolder } from '../tools/memory-folder.ts'

interface HookScript extends AsyncDisposable {
  folder: string
  program: string
}

/** Writes a program with these shell lines into a folder of its own, where it runs. */
export async function writeScript(...lines: string[]): Promise<HookScript> {
  const folder = await memoryFolder()
  const program = join(folder.path, 'hook')
  await writeFile(program, ['#!/bin/sh', `cd '${folder.path}'`, ...lines, ''].join('\n'))
  await chmod(program, 0o755)
  return { folder: folder.path, program, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}
