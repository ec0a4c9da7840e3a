import { formatBytes, formatFileCount, pluralize, stripControlChars } from '../../protocol/format.ts'
import { Button } from '../kit/button.tsx'
import { Icon } from '../kit/icon.tsx'
import type { CollectedFile } from './collect-files.ts'
import type { Preflight } from './preflight.ts'
import type { Publication } from './publication.ts'
import { SkippedFiles } from './skipped-files.tsx'
import { StepHeading } from './step-heading.tsx'

/** Files shown before the rest is collapsed. */
const MAX_VISIBLE_FILES = 8

interface ConfirmDropProps {
  preflight: Preflight
  publication: Publication
  onClose: () => void
}

/** Findings and decisions before the first byte is sent. */
export function ConfirmDrop({ preflight, publication, onClose }: ConfirmDropProps) {
  const { files, errors, warnings, publishable, suggestedFolder, ignored, notes } = preflight
  const isEmpty = files.length === 0
  const isFine = errors.length === 0 && !isEmpty
  const title = isEmpty ? 'Nothing to publish' : isFine ? 'Ready to publish?' : "This can't be published yet"
  return (
    <>
      <StepHeading focused>{title}</StepHeading>
      <MessageList sign="wrong" sentences={errors} />
      {errors.length === 0 && <MessageList sign="warning" sentences={warnings} />}
      <FileNames files={files} />
      <SkippedFiles excluded={ignored} notes={notes} />
      <div class="choices">
        {suggestedFolder !== undefined && (
          <Button variant="main" onClick={() => publication.useSubfolder(preflight, suggestedFolder)}>
            Publish only {suggestedFolder}
          </Button>
        )}
        {isFine && (
          <Button
            variant={suggestedFolder === undefined ? 'main' : 'plain'}
            onClick={() => publication.publish(preflight)}
          >
            Publish {formatFileCount(files)}
          </Button>
        )}
        {publishable && (
          <Button onClick={() => publication.excludeUnpublishable(preflight)}>
            Skip these and publish {formatFileCount(publishable)}
          </Button>
        )}
        <Button onClick={onClose}>Choose different files</Button>
      </div>
    </>
  )
}

/** The files of the site with their sizes: the first ones, all on request. */
function FileNames({ files }: { files: readonly CollectedFile[] }) {
  if (files.length === 0) return null
  const rest = files.slice(MAX_VISIBLE_FILES)
  return (
    <div class="file-names">
      <FileList files={files.slice(0, MAX_VISIBLE_FILES)} />
      {rest.length > 0 && (
        <details>
          <summary>{pluralize(rest.length, 'more file')}</summary>
          <FileList files={rest} />
        </details>
      )}
    </div>
  )
}

function FileList({ files }: { files: readonly CollectedFile[] }) {
  return (
    <ul>
      {files.map(({ path, size }) => (
        <li key={path}>
          <span>{stripControlChars(path)}</span>
          <span class="quiet">{formatBytes(size)}</span>
        </li>
      ))}
    </ul>
  )
}

function MessageList({ sign, sentences }: { sign: 'wrong' | 'warning'; sentences: readonly string[] }) {
  if (sentences.length === 0) return null
  return (
    <ul class={`points ${sign}`}>
      {sentences.map((sentence) => (
        <li key={sentence}>
          <Icon name={sign} />
          <span>{stripControlChars(sentence)}</span>
        </li>
      ))}
    </ul>
  )
}
