import { basename } from 'node:path'
import { nodeTransport } from '../sdk/node-transport.ts'
import { proxyFromEnvironment } from '../sdk/proxy.ts'
import { defaultRetryPolicy, type RetryPolicy } from '../sdk/retry.ts'
import { Slipway } from '../sdk/slipway.ts'
import type { Transport } from '../sdk/transport.ts'
import { loginCommand } from './account.ts'
import { ReceivedBanners } from './banner.ts'
import { UsageError } from './cli-error.ts'
import { type Command, type CommandContext, type OptionValues, printResult, SITE_OPTION } from './command.ts'
import { findCommand, isCommand, parseCommandLine } from './command-line.ts'
import { describeError, type ErrorReport, type LastRequest, toErrorJson } from './format-error.ts'
import { quoteArgument } from './quote-argument.ts'
import { RateBudget } from './rate-budget.ts'
import { findMisspelled, readSettings } from './settings.ts'
import { CredentialStore } from './state/credentials.ts'
import { SiteMemory } from './state/site-memory.ts'
import { type Launch, launchDetached } from './terminal/browser.ts'
import { type Streams, Terminal } from './terminal/terminal.ts'

/** The program's environment. */
export interface Invocation extends Streams {
  /** Arguments after the program's name. */
  args: string[]
  env: Record<string, string | undefined>
  /** Empty when the working folder was deleted. */
  cwd: string
  version: string
  /** The server that this program was downloaded from. */
  packageServer?: string | undefined
  /** Aborts on a signal of the system. */
  signal: AbortSignal
  /** Called before the first request: until then, nothing has to be ended gracefully. */
  onConnect?: () => void
  platform?: string
  retryPolicy?: RetryPolicy
  launch?: Launch
}

/** Runs one command and returns the exit code: 0, or one of `EXIT_CODES`. */
export async function main(invocation: Invocation): Promise<number> {
  const settings = readSettings(invocation.env, invocation.packageServer)
  const terminal = new Terminal(invocation, { ...settings, signal: invocation.signal })
  const proxyFor = proxyFromEnvironment(invocation.env)
  const transport = nodeTransport({ proxyFor })
  const retryPolicy = invocation.retryPolicy ?? defaultRetryPolicy
  const banners = new ReceivedBanners()
  const budget = new RateBudget()
  let caller: LastRequest | undefined
  const credentials = new CredentialStore(settings.keysFile)
  const work: CommandContext = {
    cwd: invocation.cwd,
    env: invocation.env,
    platform: invocation.platform ?? process.platform,
    version: invocation.version,
    settings,
    terminal,
    streams: invocation,
    credentials,
    siteMemory: new SiteMemory(invocation.cwd, credentials, ({ path, code }) =>
      terminal.printNote(`Can't write ${path} (${code}).`),
    ),
    retryPolicy,
    signal: invocation.signal,
    launch: invocation.launch ?? launchDetached,
    send: transport.send,
    connect(baseUrl, key) {
      invocation.onConnect?.()
      assertProxy(() => proxyFor(baseUrl))
      caller = { hasKey: key !== undefined, login: loginCommand(work, baseUrl) }
      const client = `slipway-cli/${invocation.version}`
      return new Slipway({
        baseUrl,
        key,
        client,
        send: watchSite(caller, budget.watch(banners.watch(baseUrl, transport.send))),
        signal: invocation.signal,
        retryPolicy,
      })
    },
  }
  for (const [name, meant] of findMisspelled(invocation.env))
    terminal.printNote(`${name} is not a setting. Did you mean ${meant}?`)
  try {
    if (invocation.cwd === '')
      throw new UsageError('The current folder was deleted', 'Change to another one: cd FOLDER')
    await run(work, invocation.args)
    return 0
  } catch (error) {
    const report = describeError(error, work, caller)
    printError(terminal, report, invocation.args)
    return report.exitCode
  } finally {
    banners.print(terminal, settings)
    budget.print(terminal, retryPolicy.now())
    terminal.close()
    transport.close()
  }
}

/** Stores the site of each request, which errors name. */
function watchSite(caller: LastRequest, send: Transport): Transport {
  return (request) => {
    caller.site = /\/api\/v1\/publish\/([a-z0-9-]+)/.exec(request.url)?.[1]
    return send(request)
  }
}

/** Reports an invalid proxy variable as a usage error, before a request. */
function assertProxy(find: () => unknown): void {
  try {
    find()
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function run(work: CommandContext, args: string[]): Promise<void> {
  const [name = 'help', ...rest] = args
  const { program } = work.settings
  if (['--version', '-v', '-V', 'version'].includes(name)) {
    const { version, terminal } = work
    return printResult(work, { json: isJsonRequested(args) }, { version }, () => terminal.print(version))
  }
  if (name === '--help' || name === '-h') return run(work, ['help', ...rest])
  if (looksLikeFolder(name)) {
    throw new UsageError(
      `Unknown command "${name}"`,
      `To publish a folder: ${program} publish ${quoteArgument(name)}`,
    )
  }
  const command = await findCommand(name, program)
  const { options, operands, run: runCommand } = parseCommandLine(command, rest, { program, cwd: work.cwd })
  if (options.help === true) return run(work, ['help', command.name, ...(options.json ? ['--json'] : [])])
  await runCommand(work, { ...siteOption(work, command, options), ...options }, operands)
}

/** The site of `SLIPWAY_SITE`, for a command about one site. */
function siteOption({ settings }: CommandContext, command: Command, options: OptionValues): OptionValues {
  const isAboutSite = command.options.site?.value === SITE_OPTION.value
  if (!isAboutSite || settings.site === undefined || options.new === true) return {}
  if (settings.site === '' && options.site === undefined)
    throw new UsageError(
      'SLIPWAY_SITE is empty, as from a variable that is not set',
      'Name the site: --site SLUG. To use that of this folder: unset SLIPWAY_SITE',
    )
  return { site: settings.site }
}

/** Prints an error on stderr, and with `--json` also on stdout. */
function printError(terminal: Terminal, report: ErrorReport, args: string[]): void {
  terminal.printError(report.message)
  for (const line of report.hints) terminal.printNote(`  ${line}`)
  if (isJsonRequested(args)) terminal.printJson(toErrorJson(report))
}

/** Also of arguments that cannot be parsed. */
function isJsonRequested(args: string[]): boolean {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).includes('--json')
}

function looksLikeFolder(name: string): boolean {
  return !isCommand(name) && (name === '.' || name === '..' || name !== basename(name))
}
