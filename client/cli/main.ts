import { basename } from 'node:path'
import { nodeTransport } from '../sdk/node-transport.ts'
import { type Patience, realPatience } from '../sdk/retry.ts'
import { Slipway } from '../sdk/slipway.ts'
import { loginCommand } from './account.ts'
import type { Workplace } from './command.ts'
import { COMMANDS, commandNamed, understand } from './command-line.ts'
import { type Caller, explain } from './explain.ts'
import { Keyring } from './memory/keyring.ts'
import { SiteMemory } from './memory/site-memory.ts'
import { readSettings } from './settings.ts'
import { type Launch, launchDetached } from './terminal/browser.ts'
import { type Streams, Terminal } from './terminal/terminal.ts'
import { UsageTrouble } from './trouble.ts'

/** Everything that the program takes from outside. */
export interface Invocation extends Streams {
  /** What stands behind the program's name. */
  args: string[]
  env: Record<string, string | undefined>
  cwd: string
  version: string
  /** Aborts when the person wants to stop. */
  signal: AbortSignal
  platform?: string
  patience?: Patience
  launch?: Launch
}

/** Runs one command and gives back the exit code: 0 when it worked, 1 when it did not, 2 when it made no sense. */
export async function main(invocation: Invocation): Promise<number> {
  const settings = readSettings(invocation.env)
  const { colour } = settings
  const terminal = new Terminal(invocation, { colour, signal: invocation.signal })
  const transport = nodeTransport()
  const patience = invocation.patience ?? realPatience
  let caller: Caller | undefined
  const work: Workplace = {
    cwd: invocation.cwd,
    env: invocation.env,
    platform: invocation.platform ?? process.platform,
    version: invocation.version,
    settings,
    terminal,
    keyring: new Keyring(settings.keysFile),
    sites: new SiteMemory(invocation.cwd),
    patience,
    signal: invocation.signal,
    launch: invocation.launch ?? launchDetached,
    connect(baseUrl, key) {
      caller = { hasKey: key !== undefined, login: loginCommand(work, baseUrl) }
      return new Slipway({ baseUrl, key, send: transport.send, signal: invocation.signal, patience })
    },
  }
  try {
    await run(work, invocation.args)
    return 0
  } catch (error) {
    for (const line of explain(error, work, caller)) terminal.say(line)
    return error instanceof UsageTrouble ? 2 : 1
  } finally {
    terminal.close()
    transport.close()
  }
}

async function run(work: Workplace, args: string[]): Promise<void> {
  const [name = 'help', ...rest] = args
  const { program } = work.settings
  if (name === '--version' || name === '-V') return work.terminal.print(work.version)
  if (name === '--help' || name === '-h') return run(work, ['help', ...rest])
  if (looksLikeFolder(name)) {
    throw new UsageTrouble(`There is no command "${name}"`, `To publish a folder: ${program} publish ${name}`)
  }
  const command = await commandNamed(name, program)
  const { options, operands } = understand(command, rest, program)
  if (options.help === true) return run(work, ['help', command.name])
  await command.run(work, options, operands)
}

function looksLikeFolder(name: string): boolean {
  return !Object.hasOwn(COMMANDS, name) && (name === '.' || name === '..' || name !== basename(name))
}
