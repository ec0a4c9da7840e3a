import { count, harmless, size } from '../../client/words.ts'
import { Button } from '../kit/button.tsx'
import { Icon } from '../kit/icon.tsx'
import { ArrivedHeading } from './heading.tsx'
import type { Look } from './look.ts'
import { NameList } from './name-list.tsx'
import type { Publication } from './publication.ts'

interface QuestionProps {
  look: Look
  publication: Publication
  onClose: () => void
}

/** What somebody has to know or to decide before the first byte is sent. */
export function Question({ look, publication, onClose }: QuestionProps) {
  const { files, refusals, cautions, rest, inside } = look
  const isEmpty = files.length === 0
  const isFine = refusals.length === 0 && !isEmpty
  const title = isEmpty
    ? 'There is nothing to publish in it.'
    : isFine
      ? 'Is this as you want it?'
      : 'This cannot be published as it is.'
  return (
    <>
      <ArrivedHeading>{title}</ArrivedHeading>
      <Points sign="wrong" sentences={refusals} />
      {refusals.length === 0 && <Points sign="warning" sentences={cautions} />}
      <LeftOut look={look} />
      <div class="choices">
        {inside !== undefined && (
          <Button look="main" onClick={() => publication.inside(look, inside)}>
            Publish only {inside}
          </Button>
        )}
        {isFine && (
          <Button look={inside === undefined ? 'main' : 'plain'} onClick={() => publication.publish(look)}>
            Publish {amount(files)}
          </Button>
        )}
        {rest && (
          <Button onClick={() => publication.without(look)}>
            Leave these out and publish {amount(rest)}
          </Button>
        )}
        <Button onClick={onClose}>Choose something else</Button>
      </div>
    </>
  )
}

/** What was in the drop and is not in the site. */
export function LeftOut({ look: { leftOut, empty } }: { look: Look }) {
  return (
    <>
      <NameList title="Left out, as junk or secret" names={leftOut} />
      <NameList title="Left out, being empty" names={empty} />
    </>
  )
}

function Points({ sign, sentences }: { sign: 'wrong' | 'warning'; sentences: readonly string[] }) {
  if (sentences.length === 0) return null
  return (
    <ul class={`points ${sign}`}>
      {sentences.map((sentence) => (
        <li key={sentence}>
          <Icon name={sign} />
          <span>{harmless(sentence)}</span>
        </li>
      ))}
    </ul>
  )
}

function amount(files: readonly { size: number }[]): string {
  return `${count(files.length, 'file')} (${size(files.reduce((sum, file) => sum + file.size, 0))})`
}
