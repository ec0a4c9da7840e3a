import type { DomainRecord } from '../../protocol/api/domains.ts'
import { stripControlChars } from '../../protocol/format.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { accountClient, resolveServer } from './account.ts'
import { CliError, UsageError } from './cli-error.ts'
import {
  type Command,
  type CommandContext,
  JSON_OPTION,
  type OptionValues,
  SERVER_OPTION,
  SITE_OPTION,
} from './command.ts'
import { add } from './domain/add.ts'
import { formatDomainList, formatFindings } from './domain/record.ts'
import { findNearest } from './nearest.ts'

type Action = (work: CommandContext, options: OptionValues, domain: string | undefined) => Promise<void>

const ACTIONS: Record<string, Action> = {
  list,
  add: (work, options, domain) => add(work, options, requireDomain(work, 'add', domain)),
  check: (work, options, domain) => check(work, options, requireDomain(work, 'check', domain)),
  remove: (work, options, domain) => remove(work, options, requireDomain(work, 'remove', domain)),
}

/** `slipway domains` */
export const domains: Command = {
  name: 'domains',
  operands: '[action] [domain]',
  maxOperands: 2,
  summary: 'Show a site at a domain of your own',
  about: `
Shows a site at a domain of your own, with a certificate that is renewed by itself.

  domains                list your domains
  domains add DOMAIN     say what to enter in DNS, and wait until the domain shows the site
  domains check DOMAIN   look its records up now: what is right, and what is not
  domains remove DOMAIN  take it away from its site; asks to type the name, unless --yes`,
  options: {
    site: SITE_OPTION,
    'no-wait': { type: 'boolean', help: 'With add: say what to enter in DNS, and end' },
    yes: { type: 'boolean', short: 'y', help: 'With remove: do not ask' },
    json: JSON_OPTION,
    server: SERVER_OPTION,
  },
  async run(work, options, [action = 'list', domain]) {
    const act = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
    if (!act) throw unknownAction(action, work.settings.program)
    await act(work, options, domain)
  },
}

async function list(work: CommandContext, options: OptionValues, domain: string | undefined): Promise<void> {
  const { terminal, settings } = work
  if (domain !== undefined) return check(work, options, domain)
  const { domains: found } = await accountClient(work, options, resolveServer(work, options)).domains()
  if (options.json === true) return terminal.print(JSON.stringify(found, undefined, 2))
  if (found.length === 0)
    return terminal.printNote(
      `You have no domains yet. Add one: ${settings.program} domains add www.example.com --site SLUG`,
    )
  for (const line of formatDomainList(found)) terminal.print(line)
  const unsettled = found.find(({ reason }) => reason !== null)
  if (unsettled)
    terminal.printNote(stripControlChars(`More: ${settings.program} domains check ${unsettled.domain}`))
}

async function check(work: CommandContext, options: OptionValues, domain: string): Promise<void> {
  const slipway = accountClient(work, options, resolveServer(work, options))
  const record = await withKnownDomain(work, domain, () => slipway.checkDomain(domain))
  if (options.json === true) return work.terminal.print(JSON.stringify(record, undefined, 2))
  for (const line of formatFindings(record)) work.terminal.print(line)
}

async function remove(work: CommandContext, options: OptionValues, domain: string): Promise<void> {
  const { terminal } = work
  const slipway = accountClient(work, options, resolveServer(work, options))
  if (options.yes !== true) {
    if (!terminal.interactive) throw new UsageError('Nobody is here to ask', 'If you are sure: --yes')
    const typed = await terminal.prompt(
      `Visitors of ${stripControlChars(domain)} will not see the site any more. Type its name to go on:`,
    )
    if (typed !== domain) throw new CliError('That is not its name, so nothing was removed')
  }
  const answer = await withKnownDomain(work, domain, () => slipway.removeDomain(domain))
  if (options.json === true) return terminal.print(JSON.stringify(answer, undefined, 2))
  terminal.printNote(
    `${terminal.green('✓')} ${stripControlChars(answer.domain)} is removed. Take its records out of DNS too.`,
  )
}

async function withKnownDomain<T extends Pick<DomainRecord, 'domain'>>(
  { settings }: CommandContext,
  domain: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!isSlipwayError(error, 'NOT_FOUND')) throw error
    throw new CliError(
      `${stripControlChars(domain)} is not among your domains`,
      `Those that are: ${settings.program} domains`,
      `To add it: ${settings.program} domains add ${stripControlChars(domain)}`,
    )
  }
}

function requireDomain({ settings }: CommandContext, action: string, domain: string | undefined): string {
  if (domain !== undefined) return domain
  throw new UsageError(
    'Which domain? Say its name',
    `Such as: ${settings.program} domains ${action} www.example.com`,
  )
}

function unknownAction(action: string, program: string): UsageError {
  const near = findNearest(action, Object.keys(ACTIONS))
  const suggestion = action.includes('.') ? `add ${stripControlChars(action)}` : near
  const hints = suggestion === undefined ? [] : [`Did you mean: ${program} domains ${suggestion}`]
  return new UsageError(
    `domains has no action "${stripControlChars(action)}"`,
    ...hints,
    `See: ${program} help domains`,
  )
}
