import { useRef, useState } from 'preact/hooks'
import type { BannerResponse, ScheduledBanner } from '../../protocol/api/admin/banner.schema.ts'
import { type BannerLevel, MAX_BANNER_LENGTH } from '../../protocol/api/banner.ts'
import { handleSubmit, useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Choice, TextArea, TextField } from '../kit/field.tsx'
import { withoutSent } from '../kit/kept-input.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { toLocalInputValue } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { changeAdmin, readAdmin } from './admin-client.ts'

/** The message to all users: sets, changes and removes it. */
export function BannerPanel() {
  const { value, set, error, reload } = useResource('admin/banner', () => readAdmin('getBanner'))
  return (
    <Panel
      title="Banner"
      lead="A message on all pages of the dashboard, and in the command line. A user can dismiss it."
    >
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the banner" />}
      {value && <BannerForm banner={value.banner} onChange={set} />}
    </Panel>
  )
}

const LEVELS: { value: BannerLevel; name: string }[] = [
  { value: 'info', name: 'Information' },
  { value: 'warning', name: 'Warning' },
]

const INCOMPLETE_TIME = 'Enter a date and a time, or neither.'

interface BannerFormProps {
  banner: ScheduledBanner | null
  onChange: (response: BannerResponse) => void
}

function BannerForm({ banner, onChange }: BannerFormProps) {
  const [changed, setChanged] = useState<Fields | undefined>(undefined)
  const fields = changed ?? toFields(banner)
  const write = (change: Partial<Fields>) => setChanged((now = fields) => ({ ...now, ...change }))
  const save = useAction(async () => {
    const request = toRequest(fields)
    onChange(await changeAdmin('setBanner', { json: request }))
    setChanged(withoutSent(changed, undefined))
    showToast('The banner is set. Pages show it when they are opened.')
  })
  const onRemoved = (response: BannerResponse) => {
    onChange(response)
    setChanged(undefined)
    save.clear()
  }
  const { from, until, errors, areWhole } = useTimes()
  const submit = () => areWhole() && fields.text.trim() && save()
  const wrong = { ...save.error?.fields, ...errors }
  const field = (name: 'text' | 'link' | 'from' | 'until') => ({
    value: fields[name],
    error: wrong[name],
    autocomplete: 'off',
    onWrite: (text: string) => write({ [name]: text }),
  })
  return (
    <>
      <form class="stack" noValidate onSubmit={handleSubmit(submit)}>
        <TextArea label="Text" maxLength={MAX_BANNER_LENGTH} {...field('text')} />
        <Choice
          label="Kind"
          value={fields.level}
          choices={LEVELS}
          onChoose={(level) => write({ level: level as BannerLevel })}
        />
        <TextField label="Link (optional)" inputMode="url" autocapitalize="none" {...field('link')} />
        <div class="banner-times">
          <TextField label="From (optional)" type="datetime-local" box={from} {...field('from')} />
          <TextField label="Until (optional)" type="datetime-local" box={until} {...field('until')} />
        </div>
        {Object.keys(wrong).length === 0 && <ErrorNotice error={save.error} />}
        <div class="choices">
          <Button variant="main" busy={save.busy} disabled={fields.text.trim() === ''}>
            {banner ? 'Save banner' : 'Show banner'}
          </Button>
        </div>
      </form>
      {banner && <RemoveBanner onRemoved={onRemoved} />}
    </>
  )
}

/** The fields of times: a value of which only a part was typed is empty. */
function useTimes() {
  const boxes = { from: useRef<HTMLInputElement>(null), until: useRef<HTMLInputElement>(null) }
  const [errors, setErrors] = useState<Record<string, string>>({})
  const areWhole = () => {
    const found = Object.entries(boxes).filter(([, box]) => box.current!.validity.badInput)
    setErrors(Object.fromEntries(found.map(([name]) => [name, INCOMPLETE_TIME])))
    return found.length === 0
  }
  return { ...boxes, errors, areWhole }
}

function RemoveBanner({ onRemoved }: { onRemoved: (response: BannerResponse) => void }) {
  const [isConfirming, setConfirming] = useState(false)
  const remove = useAction(async () => {
    onRemoved(await changeAdmin('clearBanner'))
    showToast('The banner is removed.')
  })
  return (
    <>
      <Button onClick={() => setConfirming(true)}>Remove banner</Button>
      {isConfirming && (
        <Confirm
          title="Remove banner?"
          verb="Remove banner"
          action={remove}
          onClose={() => setConfirming(false)}
        >
          <p>Its text isn't kept.</p>
        </Confirm>
      )}
    </>
  )
}

type Fields = ReturnType<typeof toFields>

function toFields(banner: ScheduledBanner | null) {
  return {
    text: banner?.text ?? '',
    level: banner?.level ?? ('info' as const),
    link: banner?.link ?? '',
    from: toInputValue(banner?.from),
    until: toInputValue(banner?.until),
  }
}

function toRequest({ text, level, link, from, until }: Fields) {
  return { text, level, link: link.trim() || null, from: toTime(from), until: toTime(until) }
}

function toInputValue(time: string | null | undefined): string {
  return time ? toLocalInputValue(Date.parse(time)) : ''
}

/** The time of an input in the time zone of the browser; null for an empty one. */
function toTime(value: string): string | null {
  return value === '' ? null : new Date(value).toISOString()
}
