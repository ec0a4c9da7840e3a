import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { accountClient, resolveServer } from './account.ts'
import { UnknownNameError, UsageError } from './cli-error.ts'
import {
  type Action,
  type Command,
  type CommandContext,
  JSON_OPTION,
  type OptionValues,
  printResult,
  type Run,
  SERVER_OPTION,
  SITE_OPTION,
  YES_OPTION,
} from './command.ts'
import { add } from './domain/add.ts'
import { formatDomainList, formatFindings } from './domain/record.ts'
import { quoteArgument } from './quote-argument.ts'
import { confirmDeletion } from './terminal/choose.ts'

/** `slipway domains` */
export const domains: Command = {
  name: 'domains',
  operands: '[action] [domain]',
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
  actions: {
    list: { operands: '[domain]', run: list },
    add: aboutDomain('add', add),
    check: aboutDomain('check', check),
    remove: aboutDomain('remove', remove),
  },
  addable: /\./,
}

function aboutDomain(
  name: string,
  run: (work: CommandContext, options: OptionValues, domain: string) => Promise<void>,
): Action {
  return {
    operands: '<domain>',
    async run(work, options, [domain]) {
      if (domain !== undefined) return run(work, options, domain)
      const example = `${work.settings.program} domains ${name} www.example.com`
      throw new UsageError('Name a domain', `Such as: ${example}`)
    },
  }
}

async function list(...[work, options, [domain]]: Parameters<Run>): Promise<void> {
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
