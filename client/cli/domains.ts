import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { accountClient, resolveServer } from './account.ts'
import { type Action, findAction } from './action.ts'
import { UnknownNameError, UsageError } from './cli-error.ts'
import {
  type Command,
  type CommandContext,
  JSON_OPTION,
  type OptionValues,
  printResult,
  SERVER_OPTION,
  SITE_OPTION,
  YES_OPTION,
} from './command.ts'
import { add } from './domain/add.ts'
import { formatDomainList, formatFindings } from './domain/record.ts'
import { quoteArgument } from './quote-argument.ts'
import { confirmDeletion } from './terminal/choose.ts'

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
  choices: Object.keys(ACTIONS),
  maxOperands: 2,
  summary: 'Connect your own domains to your sites',
  about: `
Connects your own domains to your sites. HTTPS certificates are issued and renewed automatically.

  domains                list your domains
  domains add DOMAIN     show the DNS records to add, and wait until the domain is active
  domains check DOMAIN   check the DNS records now
  domains remove DOMAIN  disconnect a domain; asks first, unless --yes`,
  options: {
    site: SITE_OPTION,
    'no-wait': { type: 'boolean', help: 'With add: show the DNS records without waiting' },
    yes: { ...YES_OPTION, help: 'With remove: skip the confirmation' },
    json: JSON_OPTION,
    server: SERVER_OPTION,
  },
  async run(work, options, [action = 'list', domain]) {
    const { program } = work.settings
    await findAction(ACTIONS, action, { command: 'domains', program, operand: /\./ })(work, options, domain)
  },
}

async function list(work: CommandContext, options: OptionValues, domain: string | undefined): Promise<void> {
  const { terminal, settings, retryPolicy } = work
  if (domain !== undefined) return check(work, options, domain)
  const { domains: found } = await accountClient(work, options, resolveServer(work, options)).domains()
  printResult(work, options, { domains: found }, () => {
    if (found.length === 0)
      return terminal.printNote(
        `You have no domains yet. Add one: ${settings.program} domains add www.example.com --site SLUG`,
      )
    terminal.printRows(() => formatDomainList(found, retryPolicy.now()))
    const unsettled = found.find(({ reason }) => reason !== null)
    if (unsettled)
      terminal.printNote(`Details: ${settings.program} domains check ${quoteArgument(unsettled.domain)}`)
  })
}

async function check(work: CommandContext, options: OptionValues, domain: string): Promise<void> {
  const slipway = accountClient(work, options, resolveServer(work, options))
  const record = await withKnownDomain(work, domain, () => slipway.checkDomain(domain))
  printResult(work, options, record, () => {
    work.terminal.printRows(() => formatFindings(record, work.retryPolicy.now()))
  })
}

async function remove(work: CommandContext, options: OptionValues, domain: string): Promise<void> {
  const { terminal } = work
  const slipway = accountClient(work, options, resolveServer(work, options))
  if (options.yes !== true) await confirmDeletion(terminal, `${domain} will no longer show your site.`)
  const answer = await withKnownDomain(work, domain, () => slipway.removeDomain(domain))
  printResult(work, options, answer, () =>
    terminal.printDone(`Removed ${answer.domain}. Delete its DNS records as well.`),
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
    throw new UnknownNameError(
      `${domain} is not one of your domains`,
      `List them: ${settings.program} domains`,
      `Add it: ${settings.program} domains add ${quoteArgument(domain)}`,
    )
  }
}

function requireDomain({ settings }: CommandContext, action: string, domain: string | undefined): string {
  if (domain !== undefined) return domain
  throw new UsageError('Name a domain', `Such as: ${settings.program} domains ${action} www.example.com`)
}
