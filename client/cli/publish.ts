import { KEY_SCOPES } from '../../protocol/api/keys.ts'
import type { SiteMetadata } from '../../protocol/api/publish.schema.ts'
import type { HashedFile } from '../sdk/folder/digest.ts'
import type { FolderScan } from '../sdk/folder/scan.ts'
import type { ResumableResult } from '../sdk/resume.ts'
import { FILE_CHANGED_CODES, isSlipwayError } from '../sdk/slipway-error.ts'
import { accountCommand, foreignSite, loginCommand, resolvePublisherKey, resolveServer } from './account.ts'
import { claimRemembered } from './claim.ts'
import { AuthError, CliError, checkAll, InterruptedError, RefusedError, UsageError } from './cli-error.ts'
import {
  type CommandContext,
  JSON_OPTION,
  type OptionValues,
  SECRETS_OPTION,
  SERVER_OPTION,
  type SimpleCommand,
  stringOption,
} from './command.ts'
import { printDryRun } from './dry-run.ts'
import { assertWithinLimits, notices, readFiles, scanOrThrow } from './folder/read-site.ts'
import {
  assertNotBoth,
  changesPassword,
  METADATA_OPTIONS,
  readMetadata,
  readPassword,
} from './metadata-options.ts'
import { chooseFolder, confirmFolder } from './publish-folder.ts'
import { type PublishPlan, publishToSite, setPassword, UNKNOWN_VERSION } from './publish-target.ts'
import { confirmReplacement, MergeInstead } from './replacement.ts'
import { progressObserver, publishedUrl, report } from './report.ts'
import { chooseServer, namedServer } from './server.ts'
import { applyName, assertIsName, assertName, NAME_OPTION } from './site-name.ts'
import type { RememberedSite } from './state/site-memory.ts'
import { browse } from './terminal/browser.ts'
import { choose } from './terminal/choose.ts'
import { type ConflictResolution, resolveConflict } from './version-conflict.ts'
import { watchFolder } from './watch.ts'

/** `slipway publish [folder]` */
export const publish: SimpleCommand = {
  name: 'publish',
  operands: '[folder]',
  readsFolder: true,
  summary: 'Publish a folder or a file and print its URL',
  about: `
Publishes a folder and prints only the URL on stdout. By default it publishes the folder that was published from here
last, otherwise this folder. Publishing again updates the same site and uploads only files that changed. An interrupted
publish resumes. The .slipway/ folder stores which site belongs to this folder; only you can read it.

An update that would remove index.html or more than half of the site's files asks first. Without a terminal, pass --merge
or --replace. If someone else published since your last publish from here, it shows who, when and what changed, and asks
whether to overwrite that version; without a terminal, it ends with exit code 7 unless you pass --overwrite. With --watch, such a version
ends the command. After slipway login, the next publish claims a site that you published without an account.

You don't need an account. Sites without an account expire (by default after 24 hours) unless you claim them with
the link shown.

Skipped, unless .slipwayignore includes them with !name: names that start with a dot (except .well-known),
node_modules, __MACOSX, Thumbs.db, desktop.ini, and temporary files of editors (*~ *.swp *.swo #*#).

Skipped, unless --include-secrets: private keys (id_rsa, id_dsa, id_ecdsa, id_ed25519, *.pem *.key *.p12 *.pfx *.jks
*.keystore *.kdbx), .env and other files that usually hold secrets.

Always skipped: .git .hg .svn .slipway .slipwayignore.

.slipwayignore, in the top folder, uses the syntax of .gitignore. A single file is refused if it would be skipped.`,
  options: {
    site: { type: 'string', value: 'SLUG', help: 'Site of your account to update (default: SLIPWAY_SITE)' },
    create: {
      type: 'boolean',
      help: 'With --site: create the site of this name unless it exists, which needs no memory',
    },
    new: { type: 'boolean', help: 'Create a new site' },
    merge: { type: 'boolean', help: 'Add the files to the site and keep its other files' },
    replace: {
      type: 'boolean',
      help: 'Replace the site without asking, even if most of its files are removed',
    },
    overwrite: {
      type: 'boolean',
      help: 'Publish even if another version went live since the last publish from this folder',
    },
    draft: { type: 'boolean', help: 'Publish a draft with its own URL; the site stays as it is' },
    preview: {
      type: 'string',
      value: 'NAME',
      help: 'Publish to a preview, whose URL stays the same; the site stays as it is (needs an account)',
    },
    name: NAME_OPTION,
    message: {
      type: 'string',
      short: 'm',
      value: 'TEXT',
      help: 'Note about this version, shown in the list of versions',
    },
    ...METADATA_OPTIONS,
    'include-secrets': SECRETS_OPTION,
    'allow-secret': {
      type: 'string',
      multiple: true,
      value: 'FINGERPRINT',
      help: 'Publish a secret that may be public; the site accepts it from then on (repeatable)',
    },
    strict: { type: 'boolean', help: 'Treat warnings as errors: the site stays as it is (exit code 6)' },
    watch: {
      type: 'boolean',
      help: 'Publish each change of the folder until Ctrl-C; open pages of a preview reload',
    },
    review: {
      type: 'boolean',
      help: 'Print a link with which reviewers comment on this preview or site, and with a key of scope manage approve it (needs an account)',
    },
    open: { type: 'boolean', help: 'Open the site in the browser' },
    'dry-run': {
      type: 'boolean',
      help: 'Show what would be uploaded, removed and left out, without publishing',
    },
    json: JSON_OPTION,
    server: SERVER_OPTION,
  },
  async run(work, options, [operand]) {
    const viewer = readOptions(options)
    const folder = await chooseFolder(work, options, operand)
    const found = scanOrThrow(folder, {
      secrets: options['include-secrets'] === true,
      mode: publishMode(options),
    })
    const planned = await buildPlan(work, options, folder, viewer)
    const { server, key, slug, remembered: known } = planned
    await assertWithinLimits(work.connect(server, key), found, slug ?? known?.slug)
    if (options['dry-run'] === true) return printDryRun(work, options, planned, found)
    if (operand === undefined) await confirmFolder(work, planned, found)
    const plan = withBase(await claimRemembered(work, planned), options)
    if (plan.preview !== undefined) assertHasOwner(work, plan, 'Previews')
    if (options.review === true) assertHasOwner(work, plan, 'Reviews')
    await assertName(work, plan)
    await assertScope(work, options, plan)
    const password = await passwordFor(work, options, plan)
    const isMerged = plan.mode === 'merge'
    const asksForRouting = plan.viewer.spaMode === undefined && isNewSite(plan)
    printNotices(work, options, notices(found, folder, { isMerged, asksForRouting }))
    const startedAt = work.retryPolicy.now()
    const done = await publishFirst(work, { ...plan, password }, found)
    const { outcome: reached, ...summary } = done
    const complete = <T>(step: () => Promise<T>) => afterPublish(work, publishedUrl(reached, plan.live), step)
    if (password === null) await complete(() => removePassword(work, plan, reached))
    const outcome = await complete(() => applyName(work, plan, reached))
    const skipped = found.excluded
    const remembered = work.siteMemory.find(folder, plan.server)?.slug === outcome.published.slug
    const review =
      options.review === true
        ? await complete(() => createReviewLink(work, plan, outcome.published.slug))
        : undefined
    const { live, server: at } = plan
    const reported = {
      ...outcome,
      ...summary,
      folder,
      server: at,
      live,
      skipped,
      remembered,
      startedAt,
      review,
    }
    report(work, reported, options)
    if (password !== undefined) work.terminal.printNote(`Password: ${password === null ? 'Off' : 'On'}`)
    if (options.open === true) await browse(publishedUrl(outcome, plan.live), work)
    if (options.watch === true)
      await watchPublished(work, plan, { ...done, outcome }, options.overwrite === true)
  },
}

function isNewSite({ slug, remembered }: Pick<PublishPlan, 'slug' | 'remembered'>): boolean {
  return slug === undefined && remembered === undefined
}

/** Publishes each change of the folder after the first publish, over changes of others only with `overwrites`. */
async function watchPublished(
  work: CommandContext,
  plan: PublishPlan,
  first: PublishOutcome,
  overwrites: boolean,
): Promise<void> {
  const { site } = first.outcome
  // The user may have chosen to merge.
  const mode = first.merged ? 'merge' : (plan.mode ?? 'replace')
  const toPublished = ({ files, outcome }: PublishOutcome) => {
    return { files, versionId: outcome.published.versionId }
  }
  const publishAll = async (seen: string) => {
    const remembered = work.siteMemory.findNamed(site.slug, plan.server)
    const fixed = { name: undefined, password: undefined, baseVersionId: overwrites ? undefined : seen }
    const again = { ...plan, mode, slug: site.slug, remembered, asksOnConflict: false, ...fixed }
    return toPublished(await publishWithReread(work, again, scanOrThrow(plan.folder, again)))
  }
  await watchFolder(work, { plan: { ...plan, mode }, site, first: toPublished(first), publishAll })
}

/** Throws a RefusedError for warnings with `--strict`. */
function printNotices(
  { terminal }: CommandContext,
  options: OptionValues,
  { skipped, warnings }: ReturnType<typeof notices>,
): void {
  for (const line of skipped) terminal.printNote(line)
  if (options.strict === true && warnings.length > 0)
    throw new RefusedError('Nothing was published', ...warnings)
  for (const line of warnings) terminal.printNote(line)
}

/** Options of which only one can be set. */
const EXCLUSIVE_OPTIONS: [one: string, others: string[]][] = [
  ['new', ['site']],
  ['create', ['new', 'name']],
  ['preview', ['draft', 'name', 'password', 'no-password']],
  ['watch', ['draft', 'strict', 'json']],
  ['review', ['draft']],
  ['merge', ['replace']],
  ['password', ['no-password']],
]

/** The metadata of the options. Throws a UsageError about all that can be refused without the folder. */
function readOptions(options: OptionValues): SiteMetadata {
  const pairs = EXCLUSIVE_OPTIONS.flatMap(([one, others]) => others.map((other) => [one, other] as const))
  const [viewer] = checkAll(
    () => readMetadata(options),
    () => {
      if (options.create === true && stringOption(options, 'site') === undefined)
        throw new UsageError('--create needs the name of the site', 'Pass it: --site NAME --create')
    },
    ...pairs.map((pair) => () => assertNotBoth(options, ...pair)),
  )
  return viewer
}

async function buildPlan(
  work: CommandContext,
  options: OptionValues,
  folder: string,
  viewer: SiteMetadata,
): Promise<PublishPlan> {
  const named = namedServer(stringOption(options, 'server'), work.settings)
  const slug = stringOption(options, 'site')
  const isNew = options.new === true
  const preview = stringOption(options, 'preview')
  const known =
    slug === undefined ? work.siteMemory.find(folder, named) : work.siteMemory.findNamed(slug, named)
  const isUnknown = slug !== undefined && known === undefined
  const server = isUnknown ? resolveServer(work, options) : await chooseServer(named, known?.server, work)
  const remembered = isNew || known === undefined ? undefined : await ownSite(work, known, slug)
  if (!isNewSite({ slug, remembered }))
    for (const other of ['name', 'password', 'no-password']) assertNotBoth(options, 'draft', other)
  const mode = publishMode(options)
  if (mode === 'merge' && (slug ?? remembered) === undefined) {
    throw new UsageError(
      "There's no site to add files to",
      'Publish without --merge, or name the site: --site SLUG',
    )
  }
  const key = resolvePublisherKey(work, options, server)
  if (key === undefined && work.settings.key !== undefined && isNewSite({ slug, remembered }))
    throw new AuthError(
      `SLIPWAY_KEY belongs to another server than ${server}`,
      'Set SLIPWAY_URL to the server of the key. To publish without an account: unset SLIPWAY_KEY',
    )
  // With a key, the server says what is wrong.
  if (slug !== undefined && key === undefined) assertIsName(slug)
  if (options.create === true && key === undefined)
    throw new AuthError('Choosing a name needs an account', `First: ${loginCommand(work, server)}`)
  return {
    folder,
    server,
    key,
    slug,
    create: options.create === true,
    remembered,
    viewer,
    name: stringOption(options, 'name'),
    message: stringOption(options, 'message'),
    live: options.draft !== true && preview === undefined,
    preview,
    secrets: options['include-secrets'] === true,
    allowSecrets: fingerprints(options),
    strict: options.strict === true,
    mode,
    liveReload: options.watch === true && preview !== undefined,
    asksOnConflict: true,
    baseVersionId:
      options.overwrite === true || preview !== undefined ? undefined : remembered?.liveVersionId,
  }
}

function fingerprints(options: OptionValues): string[] | undefined {
  const named = [(options['allow-secret'] as string | string[] | undefined) ?? []].flat()
  return named.length === 0 ? undefined : named.flatMap((value) => value.split(','))
}

/**
 * The site of the folder's state, or undefined for a new one. A stranger may have chosen a site that this user has not
 * published, such as another one of the user, or one without an owner, which its author can claim: it has to be named by
 * `--site`, or on a terminal confirmed.
 */
async function ownSite(
  { terminal }: CommandContext,
  known: RememberedSite,
  slug: string | undefined,
): Promise<RememberedSite | undefined> {
  if (slug !== undefined || known.isOwn) return known
  const situation = foreignSite(known)
  if (!terminal.interactive) {
    const hints = ['To publish a new site: --new', `If you mean that site: --site ${known.slug}`]
    throw new UsageError(situation, ...hints)
  }
  const question = known.claimToken === undefined ? situation : `${situation}. Its author can claim it.`
  const chosen = await choose(terminal, question, [
    ['new', 'Publish a new site'],
    ['this', `Publish to ${known.slug}`],
    ['cancel', 'Cancel'],
  ])
  if (chosen === 'cancel') throw new RefusedError('Nothing was published')
  return chosen === 'new' ? undefined : known
}

/**
 * The plan, for which any live version is a conflict if the state of the folder names a site of the account, but no
 * version that was published or seen here: a stranger who knows the name of the site may have written it.
 */
function withBase(plan: PublishPlan, options: OptionValues): PublishPlan {
  const { key, slug, remembered, live, mode, baseVersionId = UNKNOWN_VERSION } = plan
  const isNamed = slug !== undefined || remembered === undefined || options.overwrite === true
  return key === undefined || isNamed || !live || mode === 'merge' ? plan : { ...plan, baseVersionId }
}

async function createReviewLink(work: CommandContext, plan: PublishPlan, slug: string) {
  const { server, key, preview } = plan
  return work.connect(server, key).review(slug, preview).createLink()
}

/** AuthError without a key, and for an anonymous site. */
function assertHasOwner(
  work: CommandContext,
  { server, key, remembered }: PublishPlan,
  what: 'Previews' | 'Reviews',
): void {
  if (key !== undefined && remembered?.claimToken === undefined) return
  throw new AuthError(
    `${what} need an account`,
    `First: ${accountCommand(work, { server, key, remembered })}`,
  )
}

function publishMode(options: OptionValues): PublishPlan['mode'] {
  if (options.merge === true) return 'merge'
  return options.replace === true ? 'replace' : undefined
}

/** See `readPassword`; only a site with an owner can have one. */
async function passwordFor(
  work: CommandContext,
  options: OptionValues,
  plan: PublishPlan,
): Promise<string | null | undefined> {
  if (changesPassword(options) && (plan.key === undefined || plan.remembered?.claimToken !== undefined)) {
    throw new AuthError(
      'Only sites with an owner can have a password',
      `First: ${accountCommand(work, plan)}`,
    )
  }
  return readPassword(work, options)
}

async function removePassword(
  work: CommandContext,
  { server, key }: PublishPlan,
  { site }: ResumableResult,
): Promise<void> {
  await work.connect(server, key).setMetadata(site.slug, { password: null })
}

/** Options that change the site beside its files. */
const MANAGING_OPTIONS = ['password', 'no-password']

/** Throws before anything is published when the key or the account may not do what follows the publish. */
async function assertScope(work: CommandContext, options: OptionValues, plan: PublishPlan): Promise<void> {
  const { server, key, name, slug = plan.remembered?.slug } = plan
  const isRenamed = name !== undefined && slug !== undefined && slug !== name
  const managing = isRenamed ? 'name' : MANAGING_OPTIONS.find((one) => options[one] === true)
  const option = managing ?? (options.review === true ? 'review' : undefined)
  if (key === undefined || option === undefined) return
  const scope = managing === undefined ? 'publish' : 'manage'
  const client = work.connect(server, key)
  const own = (await client.me()).key?.scope ?? scope
  if (KEY_SCOPES.indexOf(own) < KEY_SCOPES.indexOf(scope))
    throw new AuthError(`--${option} needs a key of scope ${scope}. This one has scope ${own}`)
  if (managing === undefined || slug === undefined) return
  // Publishing reports a site that cannot be read.
  const site = await client.details(slug).catch(() => undefined)
  if (site?.role === 'collaborator') throw new RefusedError(`Only the owner of ${slug} can use --${option}`)
}

/** A step of which an error does not change that the version was published. */
async function afterPublish<T>(
  { terminal }: CommandContext,
  url: string,
  step: () => Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (error) {
    terminal.printNote(`${url} was published, but a later step failed.`)
    throw error
  }
}

/** Publishes; says of a failed update that it changed the password, which is set before the version is live. */
async function publishFirst(
  work: CommandContext,
  plan: PublishPlan,
  found: FolderScan,
): Promise<PublishOutcome> {
  let isSet = false
  const onPassword = () => {
    isSet = true
  }
  try {
    return await publishWithReread(work, { ...plan, onPassword }, found)
  } catch (error) {
    if (isSet && !isNewSite(plan))
      work.terminal.printNote('The password was set: visitors need it from now on.')
    throw error
  }
}

/** How often one publish may ask how to continue. */
const MAX_PLAN_CHANGES = 5

interface PublishOutcome {
  outcome: ResumableResult
  files: HashedFile[]
  merged: boolean
}

/** Publishes; reads the files again when they change during the upload. */
async function publishWithReread(
  work: CommandContext,
  plan: PublishPlan,
  found: FolderScan,
): Promise<PublishOutcome> {
  try {
    return await publishOnce(work, plan, found)
  } catch (error) {
    if (!isSlipwayError(error, ...FILE_CHANGED_CODES)) throw toStoppedError(work, error)
    work.terminal.printNote(`${error.message}. Reading the files again…`)
  }
  const { slug, folder, server } = plan
  const remembered =
    slug === undefined ? work.siteMemory.find(folder, server) : work.siteMemory.findNamed(slug, server)
  try {
    return await publishOnce(work, { ...plan, remembered }, scanOrThrow(plan.folder, plan))
  } catch (error) {
    if (!isSlipwayError(error, ...FILE_CHANGED_CODES)) throw toStoppedError(work, error)
    throw new CliError(
      error.message,
      'The file keeps changing. Publish again when no program is writing to it.',
    )
  }
}

async function publishOnce(
  work: CommandContext,
  plan: PublishPlan,
  found: FolderScan,
): Promise<PublishOutcome> {
  const all = await readFiles(work, found.files)
  const aliases = new Set(found.indexes.map(({ path }) => path))
  let current = plan
  for (let changes = 0; ; changes++) {
    // The site that the user has chosen to add to may have its own.
    const files = current.mode === 'merge' ? all.filter(({ path }) => !aliases.has(path)) : all
    try {
      const outcome = await publishFiles(work, current, files)
      return { files, merged: current.mode === 'merge', outcome }
    } catch (error) {
      if (changes === MAX_PLAN_CHANGES) throw error
      current = { ...current, ...(await changePlan(work, current, files, error)) }
    }
  }
}

/** How a publish continues after an error that is a question. Throws any other error. */
async function changePlan(
  work: CommandContext,
  plan: PublishPlan,
  files: HashedFile[],
  error: unknown,
): Promise<ConflictResolution> {
  if (error instanceof MergeInstead) return { mode: 'merge' }
  if (plan.create && plan.baseVersionId !== undefined && isAboutBase(error))
    return { baseVersionId: undefined }
  const isConflict = isSlipwayError(error, 'VERSION_CONFLICT') && plan.baseVersionId !== undefined
  if (!isConflict || plan.mode === 'merge') throw error
  return resolveConflict(work, plan, files, error)
}

/** Of `--create`: the site of the remembered version does not exist, such as when its server was set up again. */
function isAboutBase(error: unknown): boolean {
  if (!isSlipwayError(error, 'VALIDATION_ERROR') || !Array.isArray(error.details)) return false
  return (error.details as { field: string }[]).some(({ field }) => field === 'baseVersionId')
}

function publishFiles(
  work: CommandContext,
  plan: PublishPlan,
  files: HashedFile[],
): Promise<ResumableResult> {
  const { live, mode, strict } = plan
  const observer = progressObserver(work, plan, files)
  return publishToSite(work, plan, files, {
    ...observer,
    async onStaged(staged, resumed) {
      if (live && mode === undefined) await confirmReplacement(work, staged, files.length)
      await observer.onStaged(staged, resumed)
      // One with warnings leaves the site as it is.
      if (!live || !strict) await setPassword(work, plan, staged.slug)
    },
  })
}

function toStoppedError({ signal }: CommandContext, error: unknown): unknown {
  return signal.aborted ? new InterruptedError('Interrupted', 'Run the same command to resume.') : error
}
