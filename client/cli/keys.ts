import type { KeySummary } from '../../protocol/api/keys.schema.ts'
import { KEY_LIFETIME_SECONDS, KEY_SCOPES } from '../../protocol/api/keys.ts'
import { formatAlternatives } from '../../protocol/format.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { accountClient, resolveServer } from './account.ts'
import { checkAll, RefusedError, UnknownNameError, UsageError } from './cli-error.ts'
import {
  ACCOUNT_OPTIONS,
  type Command,
  type CommandContext,
  printResult,
  type Run,
  stringOption,
} from './command.ts'
import { parseDuration } from './duration.ts'
import { fitTable } from './terminal/table.ts'
import { formatLocalTime } from './terminal/time.ts'

/** `slipway keys` */
export const keys: Command = {
  name: 'keys',
  operands: '[action] [name]',
  summary: 'List, create and revoke API keys',
  about: `
A key gives a program access to your account, or to some of its sites only.

  keys                                                        list your keys and their last use
  keys create ci --scope publish --site bakery --expires 90d  create a key and print it, once
  keys revoke ci                                              end a key, by its name or id

The scope "read" reads sites, their versions and visits; "preview" also publishes to previews;
"publish" also creates and updates sites; "manage" is everything in the account; "admin" is also the
administration of the service.`,
  options: {
    scope: { type: 'string', value: 'SCOPE', help: `What a new key may do: ${KEY_SCOPES.join(', ')}` },
    site: {
      type: 'string',
      value: 'SLUGS',
      help: 'The only sites of a new key, separated by commas (default: all)',
    },
    expires: {
      type: 'string',
      value: 'TIME',
      help: 'Lifetime of a new key, such as 12h or 90d (default: unlimited)',
    },
    ...ACCOUNT_OPTIONS,
  },
  actions: {
    list: { operands: '', run: list },
    create: { operands: '<name>', run: create },
    revoke: { operands: '<name>', run: revoke },
  },
}

async function list(...[work, options]: Parameters<Run>): Promise<void> {
  const { keys: found } = await accountClient(work, options, resolveServer(work, options)).keys()
  const { terminal, settings, retryPolicy } = work
  printResult(work, options, { keys: found }, () => {
    if (found.length === 0)
      return terminal.printNote(
        `No keys yet. Create one: ${settings.program} keys create NAME --scope publish`,
      )
    terminal.printRows(fitTable(formatKeys(found, retryPolicy.now()), ['USED', 'SITES']))
  })
}

async function create(...[work, options, [typed]]: Parameters<Run>): Promise<void> {
  const { terminal, settings } = work
  const example = `${settings.program} keys create ci --scope publish`
  const [name, scope, expiresInSeconds] = checkAll(
    () => requireName(work, 'create ci --scope publish', typed),
    () => readScope(stringOption(options, 'scope'), KEY_SCOPES, example),
    () => readLifetime(stringOption(options, 'expires')),
  )
  const sites = stringOption(options, 'site')?.split(',') ?? null
  const slipway = accountClient(work, options, resolveServer(work, options))
  const created = await slipway
    .createKey({ name, scope, sites, expiresInSeconds })
    .catch((error: unknown) => {
      if (!isSlipwayError(error, 'NAME_TAKEN')) throw error
      throw new RefusedError(error.message, `Revoke it first: ${settings.program} keys revoke NAME`)
    })
  printResult(work, options, created, () => {
    terminal.printDone(`Created the key ${created.name}. It is shown only once:`)
    terminal.print(created.apiKey)
  })
}

function readLifetime(typed: string | undefined): number | null {
  if (typed === undefined) return null
  const hint = 'For three months: --expires 90d'
  return parseDuration(typed, { option: '--expires', bounds: KEY_LIFETIME_SECONDS, hint })
}

async function revoke(...[work, options, [typed]]: Parameters<Run>): Promise<void> {
  const name = requireName(work, 'revoke ci', typed)
  const { terminal, settings } = work
  const slipway = accountClient(work, options, resolveServer(work, options))
  const found = (await slipway.keys()).keys.find((key) => key.name === name || key.id === name)
  if (!found)
    throw new UnknownNameError(`There is no key with the name ${name}`, `See: ${settings.program} keys`)
  const revoked = await slipway.revokeKey(found.id)
  printResult(work, options, revoked, () => terminal.printDone(`Revoked the key ${found.name}`))
}

function requireName({ settings }: CommandContext, example: string, name: string | undefined): string {
  if (name !== undefined) return name
  throw new UsageError('Name a key', `Such as: ${settings.program} keys ${example}`)
}

/** The scope that was typed. Throws a UsageError with an example of a command. */
export function readScope<Scope extends string>(
  typed: string | undefined,
  scopes: readonly Scope[],
  example: string,
): Scope {
  const scope = scopes.find((one) => one === typed)
  if (scope) return scope
  const sentence = `--scope must be ${formatAlternatives(scopes)}`
  throw new UsageError(sentence, `Such as: ${example}`)
}

function formatKeys(found: KeySummary[], now: number): string[][] {
  const rows = found.map(({ id, name, current, scope, sites, lastUsedAt, expiresAt }) => [
    id,
    name,
    scope,
    sites === null ? 'all' : sites.join(', '),
    current ? 'now' : lastUsedAt === null ? 'never' : formatLocalTime(lastUsedAt, now),
    expiresAt === null ? 'never' : formatLocalTime(expiresAt, now),
  ])
  return [['ID', 'NAME', 'SCOPE', 'SITES', 'USED', 'EXPIRES'], ...rows]
}
