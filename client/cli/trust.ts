import { ACCOUNT_SCOPES } from '../../protocol/api/keys.ts'
import type { Trust } from '../../protocol/api/trusts.schema.ts'
import { FORGES, type Forge } from '../../protocol/api/trusts.ts'
import { formatTrustRules } from '../../protocol/trust-rules.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { accountClient, openSite, resolveServer } from './account.ts'
import { UnknownNameError, UsageError } from './cli-error.ts'
import { type Action, type Command, printResult, type Run, SITE_OPTIONS, stringOption } from './command.ts'
import { readScope } from './keys.ts'
import { fitTable } from './terminal/table.ts'
import { formatLocalTime } from './terminal/time.ts'

/** `slipway trust` */
export const trust: Command = {
  name: 'trust',
  operands: '[action] [repository]',
  summary: 'Let CI jobs of a repository publish a site without a secret',
  about: `
A job of a trusted repository gets a key of one site for one hour. Nothing has to be stored at the forge.

  trust                                                   list your trusted repositories
  trust github ann/bakery --site bakery --branch main     trust jobs of a branch at GitHub
  trust gitlab ann/bakery --site bakery --tag 'v*'        trust jobs of tags at GitLab
  trust remove ID                                         remove a trust and end its keys
  trust exchange --site bakery                            in a job: print a key for its token, SLIPWAY_ID_TOKEN

The first job that gets a key fixes the id of the repository: one with the same name that is registered later is not
trusted. Jobs of pull requests of forks are never trusted; those within the repository publish previews only.`,
  options: {
    branch: { type: 'string', value: 'NAME', help: 'Branch of the jobs; a final * is for all that begin so' },
    tag: { type: 'string', value: 'NAME', help: 'Tag of the jobs; a final * is for all that begin so' },
    environment: { type: 'string', value: 'NAME', help: 'Deployment environment of the jobs' },
    workflow: { type: 'string', value: 'FILE', help: 'File that defines the jobs, such as deploy.yml' },
    'pull-requests': { type: 'boolean', help: 'Also jobs of pull requests within the repository' },
    scope: {
      type: 'string',
      value: 'SCOPE',
      help: `What the keys may do: ${ACCOUNT_SCOPES.join(', ')} (default: publish)`,
    },
    issuer: {
      type: 'string',
      value: 'URL',
      help: 'Issuer of a forge of your own, from the settings of the server',
    },
    'repository-id': {
      type: 'string',
      value: 'ID',
      help: 'Id of the repository (default: that of its first job)',
    },
    ...SITE_OPTIONS,
  },
  actions: {
    list: { operands: '', run: list },
    remove: { operands: '<id>', run: remove },
    exchange: { operands: '', run: exchange },
    ...Object.fromEntries(
      FORGES.map((forge): [string, Action] => [
        forge,
        { operands: '<repository>', run: (...call) => add(forge, ...call) },
      ]),
    ),
  },
}

async function list(...[work, options]: Parameters<Run>): Promise<void> {
  const { trusts } = await accountClient(work, options, resolveServer(work, options)).trusts()
  const { terminal, settings, retryPolicy } = work
  printResult(work, options, { trusts }, () => {
    if (trusts.length === 0)
      return terminal.printNote(
        `No trusts yet. Add one: ${settings.program} trust github OWNER/REPOSITORY --branch main`,
      )
    terminal.printRows(fitTable(formatTrusts(trusts, retryPolicy.now()), ['USED', 'FORGE', 'SCOPE']))
  })
}

async function add(forge: Forge, ...[work, options, [repository]]: Parameters<Run>): Promise<void> {
  const { program } = work.settings
  const command = `${program} trust ${forge} OWNER/REPOSITORY --branch main`
  const example = `Such as: ${command}`
  if (repository === undefined) throw new UsageError('Name a repository', example)
  const rules = {
    branch: stringOption(options, 'branch') ?? null,
    tag: stringOption(options, 'tag') ?? null,
    environment: stringOption(options, 'environment') ?? null,
    pullRequests: options['pull-requests'] === true,
  }
  const workflow = stringOption(options, 'workflow') ?? null
  if (!Object.values(rules).some(Boolean))
    throw new UsageError('Add --branch, --tag, --environment or --pull-requests', example)
  const scope = readScope(
    stringOption(options, 'scope') ?? 'publish',
    ACCOUNT_SCOPES,
    `${command} --scope publish`,
  )
  const { slug: site, slipway } = await openSite(work, options)
  const created = await slipway.createTrust({
    ...rules,
    ...{ forge, repository, site, scope, workflow },
    issuer: stringOption(options, 'issuer') ?? null,
    repositoryId: stringOption(options, 'repository-id') ?? null,
  })
  const { terminal } = work
  printResult(work, options, created, () =>
    terminal.printDone(
      `Jobs of ${created.repository} for ${formatTrustRules(created)} can publish ${created.site}`,
    ),
  )
}

async function remove(...[work, options, [id]]: Parameters<Run>): Promise<void> {
  const { program } = work.settings
  if (id === undefined) throw new UsageError('Name the id of a trust', `List them: ${program} trust`)
  const slipway = accountClient(work, options, resolveServer(work, options))
  const removed = await slipway.removeTrust(id).catch((error: unknown) => {
    if (!isSlipwayError(error, 'NOT_FOUND')) throw error
    throw new UnknownNameError(error.message, `List the trusts: ${program} trust`)
  })
  const { terminal } = work
  printResult(work, options, removed, () => terminal.printDone('Removed the trust'))
}

async function exchange(...[work, options]: Parameters<Run>): Promise<void> {
  const { SLIPWAY_ID_TOKEN: token } = work.env
  if (!token) {
    const hint = 'GitHub: use the action. GitLab: add id_tokens to the job'
    throw new UsageError('Set SLIPWAY_ID_TOKEN to the token of the job', hint)
  }
  const site = stringOption(options, 'site')
  const slipway = work.connect(resolveServer(work, options), undefined)
  const exchanged = await slipway.exchangeIdToken({ token, ...(site !== undefined && { site }) })
  printResult(work, options, exchanged, () => work.terminal.print(exchanged.apiKey))
}

function formatTrusts(trusts: Trust[], now: number): string[][] {
  const rows = trusts.map((one) => [
    one.id,
    one.forge,
    one.repository,
    formatTrustRules(one),
    one.site,
    one.scope,
    formatUse(one, now),
  ])
  return [['ID', 'FORGE', 'REPOSITORY', 'JOBS', 'SITE', 'SCOPE', 'USED'], ...rows]
}

function formatUse({ lastUsedAt, lapsesAt }: Trust, now: number): string {
  if (lapsesAt !== null && Date.parse(lapsesAt) <= now) return 'never, has ended'
  return lastUsedAt === null ? 'never' : formatLocalTime(lastUsedAt, now)
}
