import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/** Runs promtool; `output` is what it prints to both streams. */
export async function promtool(args: string[], input = ''): Promise<{ code: number; output: string }> {
  const program = execFile('promtool', args)
  const [output, errors] = [text(program.stdout!), text(program.stderr!)]
  program.stdin!.end(input)
  const [code] = (await once(program, 'close')) as [number]
  return { code, output: (await output) + (await errors) }
}
