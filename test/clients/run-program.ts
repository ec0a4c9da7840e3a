import { spawn } from 'node:child_process'

interface ProgramOptions {
  cwd: string
  env: NodeJS.ProcessEnv
  /** Minutes after which the program is ended. Default 5. */
  minutes?: number
}

/** Runs a program without input; resolves with what it printed. Rejects with its last lines when it exits with an error. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { cwd, env, minutes = 5 }: ProgramOptions,
): Promise<string> {
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: minutes * 60_000,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code === 0) return output
  throw new Error(`${args.slice(0, 3).join(' ')} exited with ${code}: ${output.trim().slice(-500)}`)
}
