import type { CollaboratorList } from '../../protocol/api/collaborators.schema.ts'
import { isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import { openSite } from './account.ts'
import { UnknownNameError, UsageError } from './cli-error.ts'
import { type Command, type CommandContext, printResult, type Run, SITE_OPTIONS } from './command.ts'
import { isInTrash, isMissingSite } from './format-error.ts'
import { formatTable } from './terminal/table.ts'
import { formatLocalDate } from './terminal/time.ts'

/** `slipway people` */
export const people: Command = {
  name: 'people',
  operands: '[action] [email]',
  summary: 'Share a site with other people',
  about: `
Lets other accounts publish to a site, restore versions and see its visits. Only its owner can delete or rename it, change
its password, expiry and domains, and share it.

  people                list the owner and the collaborators of a site
  people add EMAIL      share the site with an email address, and notify it
  people remove EMAIL   remove a collaborator; with your own address, leave the site`,
  options: SITE_OPTIONS,
  actions: {
    list: { operands: '', run: list },
    add: { operands: '<email>', run: add },
    remove: { operands: '<email>', run: remove },
  },
  addable: /@/,
}

async function list(...[work, options]: Parameters<Run>): Promise<void> {
  const { slug, slipway } = await openSite(work, options)
  const found = await slipway.collaborators(slug)
  printResult(work, options, found, () => {
    work.terminal.printRows(() => formatPeople(found, work.retryPolicy.now()))
  })
}

async function add(...[work, options, [typed]]: Parameters<Run>): Promise<void> {
  const email = requireAddress(work, 'add', typed)
  const { terminal } = work
  const { slug, slipway } = await openSite(work, options)
  const added = await slipway.addCollaborator(slug, email)
  printResult(work, options, added, () => terminal.printDone(`${added.email} can publish to ${slug}`))
}

async function remove(...[work, options, [typed]]: Parameters<Run>): Promise<void> {
  const email = requireAddress(work, 'remove', typed)
  const { terminal } = work
  const { slug, slipway } = await openSite(work, options)
  const removed = await slipway.removeCollaborator(slug, email).catch((error: unknown) => {
    const isOther = isSlipwayError(error, 'NOT_FOUND') && !isInTrash(error) && !isMissingSite(error)
    throw isOther ? unknownAddress(work, error) : error
  })
  printResult(work, options, removed, () =>
    terminal.printDone(`${removed.email} no longer has access to ${slug}`),
  )
}

function unknownAddress({ settings }: CommandContext, { message }: SlipwayError): UnknownNameError {
  return new UnknownNameError(message, `See who has access: ${settings.program} people`)
}

function requireAddress({ settings }: CommandContext, action: string, email: string | undefined): string {
  if (email !== undefined) return email
  throw new UsageError(
    'Name an email address',
    `Such as: ${settings.program} people ${action} ann@example.com`,
  )
}

function formatPeople({ ownerEmail, collaborators }: CollaboratorList, now: number): string[] {
  const rows = collaborators.map(({ email, addedAt }) => [
    email,
    'collaborator',
    formatLocalDate(addedAt, now),
  ])
  return formatTable([['EMAIL', 'ROLE', 'SINCE'], [ownerEmail, 'owner', ''], ...rows])
}
