import { readFileSync } from 'node:fs'
import { escapeControlChars } from '../../protocol/format.ts'
import { wrapLine } from '../../protocol/wrap.ts'
import { assertDataFolder } from '../config/data-folder.ts'
import { type Config, readConfig } from '../config/settings.ts'
import { readSettingsFiles } from '../config/settings-file.ts'
import { type Deadlines, readDeadlines } from '../lib/deadlines.ts'
import { type Log, makeLog } from '../lib/log.ts'
import type { UsedSettings } from '../operations/fleet/fleet-settings.ts'

export interface Command {
  /** Lines of the help: the arguments, and what the command does with them. */
  usage: readonly (readonly [string, string])[]
  /** Returns the exit code: 0 success, 1 failure. Throws UsageError for wrong arguments; without a parameter for any. */
  run(context: CommandContext, args: string[]): Promise<number>
}

/** Where a command reads settings and writes: the process, unless a test runs the command. */
export interface CommandEnvironment {
  env: Readonly<Record<string, string | undefined>>
  /** Arguments of Node, which name files with settings. */
  execArgv: readonly string[]
  isTerminal: boolean
  columns: number
  writeOutput(text: string): void
  writeError(text: string): void
  /** Calls the listener at the first signal that asks the process to end. */
  onSignal(listener: (signal: NodeJS.Signals) => void): void
}

/** What all commands work with. Settings are read at first use: ConfigError when one is invalid. */
export class CommandContext {
  readonly version: string
  readonly environment: CommandEnvironment
  #config: Config | undefined
  #log: Log | undefined

  constructor(environment: CommandEnvironment) {
    this.environment = environment
    const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
    this.version = (JSON.parse(manifest) as { version: string }).version
  }

  get config(): Config {
    const { env, execArgv } = this.environment
    this.#config ??= readConfig(env, readSettingsFiles(execArgv))
    return this.#config
  }

  get deadlines(): Readonly<Deadlines> {
    return readDeadlines(this.environment.env)
  }

  /** JSON lines on stdout, or text on a terminal. */
  get log(): Log {
    this.#log ??= makeLog({
      level: this.config.log,
      text: this.environment.isTerminal,
      write: (line) => this.environment.writeOutput(line),
    })
    return this.#log
  }

  print(text: string): void {
    const { isTerminal, columns, writeOutput } = this.environment
    const lines = isTerminal ? text.split('\n').flatMap((line) => wrapLine(line, columns)) : [text]
    writeOutput(`${lines.join('\n')}\n`)
  }

  withPorts(ports: Partial<Config>): CommandContext {
    const context = new CommandContext(this.environment)
    context.#config = { ...this.config, ...ports }
    return context
  }

  /** The services of the database, or of an existing data folder: a wrong SLIPWAY_DATA creates nothing. */
  async openData(uses: UsedSettings | 'none' = 'identity') {
    const { config, log, version, deadlines } = this
    if (config.databaseUrl === '') assertDataFolder(config.data)
    const { openForOperator } = await import('../app.ts')
    return openForOperator(config, { log, version, deadlines }, { uses })
  }
}

/** The environment with control characters of its output escaped: a terminal may obey those of external text. */
export function escapeOutput(environment: CommandEnvironment): CommandEnvironment {
  return {
    ...environment,
    writeOutput: (text) => environment.writeOutput(escapeControlChars(text)),
    writeError: (text) => environment.writeError(escapeControlChars(text)),
  }
}

/** Wrong arguments: the message is printed with the help, and the exit code is 2. */
export class UsageError extends Error {}
