import type { SiteMetadata } from '../../protocol/api/publish.ts'
import { formatFileCount, stripControlChars } from '../../protocol/format.ts'
import type { ResumableResult } from '../sdk/resume.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand, resolveKey } from './account.ts'
import { claimRemembered } from './claim.ts'
import { CliError, UsageError } from './cli-error.ts'
import {
  type Command,
  type CommandContext,
  type OptionValues,
  SERVER_OPTION,
  stringOption,
} from './command.ts'
import type { HashedFile } from './folder/digest.ts'
import { notices, readFiles, scanOrThrow, skippedFiles } from './folder/read-site.ts'
import type { FolderScan } from './folder/scan.ts'
import { chooseFolder } from './publish-folder.ts'
import { type PublishPlan, publishToSite } from './publish-target.ts'
import { confirmReplacement, MergeInstead } from './replacement.ts'
import { progressObserver, report } from './report.ts'
import { chooseServer, namedServer } from './server.ts'

/** `slipway publish [folder]` */
export const publish: Command = {
  name: 'publish',
  operands: '[folder]',
  maxOperands: 1,
  summary: 'Publish a folder (or one file) and print its address',
  about: `
Publishes a folder and prints the address alone on stdout: by default the one that was published from here last,
otherwise this one. Publishing it again updates the same site and uploads only what changed; an interrupted publish goes
on where it was. What was published from here is remembered in .slipway/, readable by you only.

An update that would remove index.html or more than half of the site's files asks first; without a terminal it needs
--merge or --replace. After slipway login, the next publish makes a site yours that was published without an account.

No account is needed: such a site lasts a day, and the claim link that is shown keeps it.

Left out, unless .slipwayignore brings them back with !name: names that begin with a dot (but .well-known is
published), node_modules, __MACOSX, Thumbs.db, desktop.ini, editors' leftovers (*~ *.swp *.swo #*#), and private keys
(id_rsa, id_dsa, id_ecdsa, id_ed25519, *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx).
Always left out: .git .hg .svn .slipway .slipwayignore, and empty files.
.slipwayignore, at the top of the folder, has the syntax of .gitignore.`,
  options: {
    site: { type: 'string', value: 'SLUG', help: 'Update this site of your account' },
    new: { type: 'boolean', help: 'Make a new site, whatever is remembered' },
    merge: { type: 'boolean', help: 'Add the files to the site, whose other files stay' },
    replace: { type: 'boolean', help: "Do not ask before most of the site's files are removed" },
    draft: { type: 'boolean', help: 'Do not go live: give the version an address of its own' },
    title: { type: 'string', value: 'TEXT', help: "Title in tabs and previews; '' takes it away" },
    description: { type: 'string', value: 'TEXT', help: "Description in previews; '' takes it away" },
    spa: {
      type: 'boolean',
      help: 'Pages that are not there get index.html, for an application that routes them',
    },
    'no-spa': { type: 'boolean', help: 'Pages that are not there get a 404 again' },
    ttl: { type: 'string', value: 'SECONDS', help: 'Expire after so long; 0 for never (needs an account)' },
    password: {
      type: 'boolean',
      help: 'Ask for a password (or take SLIPWAY_SITE_PASSWORD; needs an account)',
    },
    'no-password': { type: 'boolean', help: 'Take the password away' },
    'dry-run': { type: 'boolean', help: 'Only list what would be published' },
    json: { type: 'boolean', help: 'Print JSON in place of the address' },
    server: SERVER_OPTION,
  },
  async run(work, options, [operand]) {
    const folder = await chooseFolder(work, options, operand)
    const found = scanOrThrow(folder)
    if (options['dry-run'] === true) return printFiles(work, found)
    const plan = await claimRemembered(work, buildPlan(work, options, folder))
    const password = await passwordFor(work, options, plan)
    for (const line of notices(found, folder, plan.mode === 'merge')) work.terminal.printNote(line)
    const startedAt = work.retryPolicy.now()
    const done = await publishWithReread(work, { ...plan, password }, found)
    if (password === null) await removePassword(work, plan, done.outcome)
    const { outcome, ...summary } = done
    report(
      work,
      { ...outcome, ...summary, live: plan.live, signedIn: plan.key !== undefined, startedAt },
      options,
    )
    if (password !== undefined)
      work.terminal.printNote(
        password === null ? 'Visitors need no password.' : 'Visitors need the password.',
      )
  },
}

function printFiles({ terminal }: CommandContext, found: FolderScan): void {
  for (const file of found.files) terminal.print(file.path)
  for (const line of skippedFiles(found, true)) terminal.printNote(line)
  terminal.printNote(`${formatFileCount(found.files)} would be published.`)
}

function buildPlan(work: CommandContext, options: OptionValues, folder: string): PublishPlan {
  const named = namedServer(stringOption(options, 'server'), work.settings)
  const slug = stringOption(options, 'site')
  const isNew = options.new === true
  if (isNew && slug !== undefined) throw new UsageError('--new and --site exclude each other')
  const known = slug === undefined ? work.siteMemory.find(folder, named) : bySlug(work, slug, named)
  const server = chooseServer(named, known?.server, work)
  if (isNew && known?.claimUrl) {
    work.terminal.printNote(`Not forgotten: ${known.siteUrl} has no owner; to keep it: ${known.claimUrl}`)
  }
  const mode = publishMode(options)
  if (mode === 'merge' && (isNew || (slug ?? known) === undefined)) {
    throw new UsageError(
      'There is no site to add to',
      `Publish without --merge, or name the site: --site SLUG`,
    )
  }
  return {
    folder,
    server,
    key: resolveKey(work, options, server),
    slug,
    remembered: isNew ? undefined : known,
    viewer: toMetadata(options),
    live: options.draft !== true,
    mode,
  }
}

function publishMode({ merge, replace }: OptionValues): PublishPlan['mode'] {
  if (merge === true && replace === true) throw new UsageError('--merge and --replace exclude each other')
  if (merge === true) return 'merge'
  return replace === true ? 'replace' : undefined
}

function bySlug({ siteMemory }: CommandContext, slug: string, server: string | undefined) {
  return siteMemory.all(server).find((site) => site.slug === slug)
}

function toMetadata(options: OptionValues): SiteMetadata {
  const title = stringOption(options, 'title')
  const description = stringOption(options, 'description')
  const ttl = stringOption(options, 'ttl')
  if (options.spa === true && options['no-spa'] === true) {
    throw new UsageError('--spa and --no-spa exclude each other')
  }
  return {
    ...(title !== undefined && { title: title || null }),
    ...(description !== undefined && { description: description || null }),
    ...(options.spa === true && { spaMode: true }),
    ...(options['no-spa'] === true && { spaMode: false }),
    ...(ttl !== undefined && { ttlSeconds: parseTtl(ttl) }),
  }
}

function parseTtl(ttl: string): number | null {
  if (!/^\d{1,10}$/.test(ttl)) {
    throw new UsageError(`--ttl ${stripControlChars(ttl)} is not a number of seconds`, 'A week: --ttl 604800')
  }
  return Number(ttl) || null
}

/** The password to set, `null` to remove it, undefined to keep it. */
async function passwordFor(
  work: CommandContext,
  options: OptionValues,
  plan: PublishPlan,
): Promise<string | null | undefined> {
  if (options.password !== true && options['no-password'] !== true) return undefined
  if (plan.key === undefined || plan.remembered?.claimToken !== undefined) {
    const hint = plan.key === undefined ? loginCommand(work, plan.server) : `${work.settings.program} claim`
    throw new CliError('Only a site with an owner can have a password', `First: ${hint}`)
  }
  if (options['no-password'] === true) return null
  const { terminal, settings } = work
  if (settings.sitePassword !== undefined) return settings.sitePassword
  if (!terminal.interactive) throw new UsageError('Nobody is here to ask', 'Set SLIPWAY_SITE_PASSWORD')
  const password = await terminal.promptSecret('Password for visitors:')
  if (password === '') throw new CliError('A password cannot be empty', 'To take it away: --no-password')
  return password
}

async function removePassword(
  work: CommandContext,
  { server, key }: PublishPlan,
  { site }: ResumableResult,
): Promise<void> {
  try {
    await work.connect(server, key).setMetadata(site.slug, { password: null })
  } catch (error) {
    work.terminal.printNote(
      `${stripControlChars(site.siteUrl)} is published, but its password is as it was before.`,
    )
    throw error
  }
}

/** With the password to set, if any. */
type PasswordPlan = PublishPlan & { password: string | null | undefined }

interface PublishOutcome {
  outcome: ResumableResult
  files: HashedFile[]
  merged: boolean
}

const FILE_CHANGED_CODES = ['FILE_CHANGED', 'SIZE_MISMATCH', 'HASH_MISMATCH'] as const

/** Publishes; reads the files again when they change during the upload. */
async function publishWithReread(
  work: CommandContext,
  plan: PasswordPlan,
  found: FolderScan,
): Promise<PublishOutcome> {
  try {
    return await publishOnce(work, plan, found)
  } catch (error) {
    if (!isSlipwayError(error, ...FILE_CHANGED_CODES)) throw toStoppedError(work, error)
    work.terminal.printNote(`${stripControlChars(error.message)}. Reading the files again.`)
  }
  const remembered = work.siteMemory.find(plan.folder, plan.server)
  try {
    return await publishOnce(work, { ...plan, remembered }, scanOrThrow(plan.folder))
  } catch (error) {
    if (!isSlipwayError(error, ...FILE_CHANGED_CODES)) throw toStoppedError(work, error)
    throw new CliError(
      stripControlChars(error.message),
      'It keeps changing. Publish again when nothing writes to it any more.',
    )
  }
}

async function publishOnce(
  work: CommandContext,
  plan: PasswordPlan,
  found: FolderScan,
): Promise<PublishOutcome> {
  const files = await readFiles(work, found.files)
  try {
    return { files, merged: plan.mode === 'merge', outcome: await publishFiles(work, plan, files) }
  } catch (error) {
    if (!(error instanceof MergeInstead)) throw error
    return { files, merged: true, outcome: await publishFiles(work, { ...plan, mode: 'merge' }, files) }
  }
}

function publishFiles(
  work: CommandContext,
  plan: PasswordPlan,
  files: HashedFile[],
): Promise<ResumableResult> {
  const { password, live, mode } = plan
  const observer = progressObserver(work, plan, files)
  return publishToSite(work, plan, files, {
    ...observer,
    async onStaged(staged, resumed) {
      if (live && mode === undefined) await confirmReplacement(work, staged, files.length)
      await observer.onStaged(staged, resumed)
      // Before the version is live, so that it is never visible without the password.
      if (password) await work.connect(plan.server, plan.key).setMetadata(staged.slug, { password })
    },
  })
}

function toStoppedError({ signal }: CommandContext, error: unknown): unknown {
  return signal.aborted
    ? new CliError('Stopped', 'Run the same command again: it goes on where it was.')
    : error
}
