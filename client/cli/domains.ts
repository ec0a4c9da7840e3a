import { isSlipwayError } from '../sdk/slipway-error.ts'
import type { DomainRecord } from '../wire.ts'
import { harmless } from '../words.ts'
import { asAccount, serverOf } from './account.ts'
import {
  type Command,
  JSON_OPTION,
  SERVER_OPTION,
  SITE_OPTION,
  type Values,
  type Workplace,
} from './command.ts'
import { nearest } from './command-line.ts'
import { add } from './domain/add.ts'
import { finding, listing } from './domain/record.ts'
import { Trouble, UsageTrouble } from './trouble.ts'

type Action = (work: Workplace, options: Values, domain: string | undefined) => Promise<void>

const ACTIONS: Record<string, Action> = {
  list,
  add: (work, options, domain) => add(work, options, named(work, 'add', domain)),
  check: (work, options, domain) => check(work, options, named(work, 'check', domain)),
  remove: (work, options, domain) => remove(work, options, named(work, 'remove', domain)),
}

/** `slipway domains` */
export const domains: Command = {
  name: 'domains',
  operands: '[action] [domain]',
  most: 2,
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

async function list(work: Workplace, options: Values, domain: string | undefined): Promise<void> {
  const { terminal, settings } = work
  if (domain !== undefined) return check(work, options, domain)
  const { domains: found } = await asAccount(work, options, serverOf(work, options)).domains()
  if (options.json === true) return terminal.print(JSON.stringify(found, undefined, 2))
  if (found.length === 0)
    return terminal.say(
      `You have no domains yet. Add one: ${settings.program} domains add www.example.com --site SLUG`,
    )
  for (const line of listing(found)) terminal.print(line)
  const unsettled = found.find(({ reason }) => reason !== null)
  if (unsettled) terminal.say(harmless(`More: ${settings.program} domains check ${unsettled.domain}`))
}

async function check(work: Workplace, options: Values, domain: string): Promise<void> {
  const slipway = asAccount(work, options, serverOf(work, options))
  const record = await known(work, domain, () => slipway.checkDomain(domain))
  if (options.json === true) return work.terminal.print(JSON.stringify(record, undefined, 2))
  for (const line of finding(record)) work.terminal.print(line)
}

async function remove(work: Workplace, options: Values, domain: string): Promise<void> {
  const { terminal } = work
  const slipway = asAccount(work, options, serverOf(work, options))
  if (options.yes !== true) {
    if (!terminal.interactive) throw new UsageTrouble('Nobody is here to ask', 'If you are sure: --yes')
    const typed = await terminal.ask(
      `Visitors of ${harmless(domain)} will not see the site any more. Type its name to go on:`,
    )
    if (typed !== domain) throw new Trouble('That is not its name, so nothing was removed')
  }
  const answer = await known(work, domain, () => slipway.removeDomain(domain))
  if (options.json === true) return terminal.print(JSON.stringify(answer, undefined, 2))
  terminal.say(
    `${terminal.green('✓')} ${harmless(answer.domain)} is removed. Take its records out of DNS too.`,
  )
}

async function known<T extends Pick<DomainRecord, 'domain'>>(
  { settings }: Workplace,
  domain: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!isSlipwayError(error, 'NOT_FOUND')) throw error
    throw new Trouble(
      `${harmless(domain)} is not among your domains`,
      `Those that are: ${settings.program} domains`,
      `To add it: ${settings.program} domains add ${harmless(domain)}`,
    )
  }
}

function named({ settings }: Workplace, action: string, domain: string | undefined): string {
  if (domain !== undefined) return domain
  throw new UsageTrouble(
    'Which domain? Say its name',
    `Such as: ${settings.program} domains ${action} www.example.com`,
  )
}

function unknownAction(action: string, program: string): UsageTrouble {
  const near = nearest(action, Object.keys(ACTIONS))
  const meant = action.includes('.') ? `add ${harmless(action)}` : near
  const hints = meant === undefined ? [] : [`Did you mean: ${program} domains ${meant}`]
  return new UsageTrouble(
    `domains has no action "${harmless(action)}"`,
    ...hints,
    `See: ${program} help domains`,
  )
}
