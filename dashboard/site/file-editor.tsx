import { useEffect, useRef, useState } from 'preact/hooks'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import type { VersionSummary } from '../../protocol/api/versions.schema.ts'
import { handleSubmit, useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { Button } from '../kit/button.tsx'
import { CopyBlock } from '../kit/copy.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { TextArea } from '../kit/field.tsx'
import { useKeptInput } from '../kit/kept-input.ts'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { SecretList } from '../kit/secret-list.tsx'
import { isShortcut } from '../kit/shortcut.ts'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { toFieldText, withLineEnds } from './line-ends.ts'
import { publishChange } from './publish-change.ts'
import { readFile } from './read-file.ts'
import { formatAuthor, listChanges, madeAt } from './version-labels.ts'

/** Larger files are not edited here, in bytes. */
const MAX_EDITED_BYTES = 256_000

const TEXT_TYPES = /^(text\/|application\/(json|javascript|xml|[\w.-]+\+(json|xml))\b|image\/svg)/

/** Whether a file is a text of a size that can be edited here. */
export function isEditable({ contentType, size }: FileEntry): boolean {
  return TEXT_TYPES.test(contentType.toLowerCase()) && size <= MAX_EDITED_BYTES
}

interface FileEditorProps {
  site: SiteDetails
  file: FileEntry
  /** Whether another version may be live, which the page is loading. */
  isStale: boolean
  /** Called when another version is live. */
  onLive: () => void
  onClose: () => void
}

/** Edits a text file. Saving publishes a version. */
export function FileEditor({ site, file, isStale, onLive, onClose: leave }: FileEditorProps) {
  const { path, contentType } = file
  const { original, versionId, text, isChanged, write, setSaved, forget } = useEditedText(site, path, isStale)
  const { value } = original
  const onClose = () => {
    forget()
    leave()
  }
  const allowed = useRef<string[]>([])
  const save = useAction(async (baseVersionId: string | null = versionId) => {
    if (!value || !isChanged) return
    const lines = withLineEnds(text, value.original)
    const put = { [path]: new Blob([lines], { type: contentType }) }
    const change = { put, baseVersionId, allowSecrets: allowed.current }
    const notes = { message: `Edit ${path}`, done: `${path} saved.` }
    const published = await publishChange(site, { ...change, ...notes }, onLive)
    if (!setSaved(published.versionId)) leave()
  })
  const allowSecret = (fingerprint: string) => {
    allowed.current.push(fingerprint)
    return save()
  }
  const [isLeaving, setLeaving] = useState(false)
  const box = useFocusAtStart(value?.isText)
  useSaveShortcut(save)
  return (
    <Dialog
      title={`Edit ${path}`}
      onClose={onClose}
      stays={isChanged || save.busy}
      onStay={() => setLeaving(true)}
    >
      <form class="stack file-editor" onSubmit={handleSubmit(save)}>
        <ErrorNotice error={original.error} onRetry={original.reload} />
        {!value && !original.error && <Loading what="the file" />}
        {value && !value.isText && <p>This file isn't UTF-8 text, so it can't be edited here.</p>}
        {value?.isText && <TextArea label="Content" box={box} value={text} onWrite={write} />}
        {save.error?.code === 'VERSION_CONFLICT' ? (
          <NewerVersion slug={site.slug} path={path} onSave={save} />
        ) : (
          <ErrorNotice error={save.error}>
            <SecretList secrets={save.error?.secrets} onAllow={allowSecret} />
          </ErrorNotice>
        )}
        {isLeaving && isChanged && <Notice tone="wrong" title="Save or discard your changes first." />}
        <div class="choices">
          <Button variant="main" busy={save.busy} disabled={!isChanged}>
            Save as new version
          </Button>
          <Button disabled={save.busy} onClick={onClose}>
            {isChanged ? 'Discard changes' : 'Cancel'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

interface ChangedText {
  /** The version with the original. */
  versionId: string | null
  text: string
}

/** A text, which is kept when the back button of the browser leaves the editor without a question. */
function useEditedText({ slug, currentVersionId }: SiteDetails, path: string, isStale: boolean) {
  const [changed, keep] = useKeptInput<ChangedText>(`text/${slug}/${path}`)
  // Another version of this page may go live while the text is edited; until the latest one is known, none is opened.
  const found = changed ? changed.versionId : currentVersionId
  const [openedId, open] = useState(changed || !isStale ? found : undefined)
  if (openedId === undefined && !isStale) open(found)
  const key = openedId === undefined ? undefined : `site/${slug}/text/${openedId}/${path}`
  const original = useResource(key, () => readText(slug, path, openedId!))
  const [base, setBase] = useState<Partial<ChangedText>>({})
  const { versionId = openedId ?? null, text: saved = original.value?.text } = base
  const text = changed?.text ?? saved ?? ''
  return {
    original,
    versionId,
    text,
    isChanged: changed !== undefined,
    write: (text: string) => void keep(() => (text === saved ? undefined : { versionId, text })),
    /** The text as it was sent is that of a version. Returns whether the user has changed it since. */
    setSaved(versionId: string): boolean {
      setBase({ versionId, text })
      const left = keep((now) => {
        // Nothing is kept where the user has gone back to the text before it.
        const current = now?.text ?? saved
        return current === undefined || current === text ? undefined : { versionId, text: current }
      })
      return left !== undefined
    },
    forget: () => void keep(() => undefined),
  }
}

/** Focuses a text area at its start once it is shown; a focus scrolls to the caret, which is at the end until it is set. */
function useFocusAtStart(isShown: boolean | undefined) {
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    box.current?.setSelectionRange(0, 0)
    box.current?.focus()
  }, [isShown])
  return box
}

/** Saves with Ctrl+S or Command+S, for which the browser would save the page. */
function useSaveShortcut(save: () => unknown): void {
  const latest = useRef(save)
  latest.current = save
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!isShortcut(event, 's')) return
      event.preventDefault()
      void latest.current()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}

interface NewerVersionProps {
  slug: string
  path: string
  /** Saves on top of this version, if it is still live. */
  onSave: (baseVersionId: string | null) => unknown
}

/** After another version went live: its text to compare, and a way to save all the same. */
function NewerVersion({ slug, path, onSave }: NewerVersionProps) {
  const [live, setLive] = useState<{ versionId: string | null; text: string | undefined } | undefined>(
    undefined,
  )
  const me = useSignal(signedInAs)
  const [version, setVersion] = useState<VersionSummary | undefined>(undefined)
  useEffect(() => {
    slipway.versions(slug).then(
      ({ versions }) => setVersion(versions.find(({ current }) => current)),
      () => undefined,
    )
  }, [slug])
  const show = useAction(async () => {
    const { currentVersionId, files } = await slipway.details(slug)
    const isThere = currentVersionId !== null && files.some((file) => file.path === path)
    const text = isThere ? (await readText(slug, path, currentVersionId)).text : undefined
    setLive({ versionId: currentVersionId, text })
  })
  const save = useAction(async () =>
    onSave(live ? live.versionId : (await slipway.details(slug)).currentVersionId),
  )
  return (
    <>
      <Notice tone="wrong" title="Another version went live since you opened this file.">
        {version && (
          <p>
            {describeVersion(version, me)}
            <RelativeTime at={madeAt(version)} />
          </p>
        )}
        <p>Saving replaces only {path} in the live version.</p>
        <div class="choices">
          <Button busy={show.busy} onClick={show}>
            Show the live text
          </Button>
          <Button busy={save.busy} onClick={save}>
            Save anyway
          </Button>
        </div>
      </Notice>
      <ErrorNotice error={show.error ?? save.error} />
      {live &&
        (live.text === undefined ? (
          <p role="status">The live version has no {path}.</p>
        ) : (
          <CopyBlock text={live.text} of="the live text" />
        ))}
    </>
  )
}

/** "ada@example.com, from the browser · New menu · 1 file changed · " */
function describeVersion(version: VersionSummary, me: string | null): string {
  const { changes, message } = version
  const facts = [formatAuthor(version, me), message, changes && listChanges(changes).join(', ')]
  return facts
    .filter(Boolean)
    .map((fact) => `${fact} · `)
    .join('')
}

interface EditedText {
  /** With its line ends. */
  original: string
  text: string
  isText: boolean
}

async function readText(slug: string, path: string, versionId: string): Promise<EditedText> {
  const bytes = await readFile(slug, path, versionId)
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    const original = decoder.decode(await bytes.arrayBuffer())
    return { original, text: toFieldText(original), isText: true }
  } catch {
    return { original: '', text: '', isText: false }
  }
}
