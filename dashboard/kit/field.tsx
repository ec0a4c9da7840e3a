import { type ComponentChildren, createContext, type Ref } from 'preact'
import { useContext, useId } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** Whether the fields keep what they show: their request runs, and the dialog closes when it succeeds. */
export const FieldsKept = createContext(false)

interface FieldLabel {
  label: string
  /** Help text. */
  hint?: ComponentChildren
  /** The error of the current value. */
  error?: string | undefined
}

interface FieldValue {
  value: string
  onWrite: (text: string) => void
  placeholder?: string | undefined
  maxLength?: number
  autocomplete?: string
  /** In addition to the field's own class. */
  class?: string
}

interface TextFieldProps extends FieldLabel, FieldValue {
  type?: 'text' | 'email' | 'password' | 'search' | 'datetime-local'
  /** The first and the last selectable date. */
  min?: string
  max?: string
  inputMode?: 'text' | 'email' | 'url'
  autocapitalize?: 'none' | 'characters'
  box?: Ref<HTMLInputElement>
}

/** A text input with label, hint and error. */
export function TextField({
  label,
  hint,
  error,
  type = 'text',
  box,
  value,
  onWrite,
  ...rest
}: TextFieldProps) {
  const id = useId()
  const input = (
    <input
      id={id}
      type={type as 'text'}
      ref={box ?? null}
      value={value}
      readOnly={useContext(FieldsKept)}
      spellcheck={false}
      onInput={({ currentTarget }) => onWrite(currentTarget.value)}
      {...described(id, hint, error)}
      {...rest}
    />
  )
  return (
    <Labeled id={id} label={label} hint={hint} error={error}>
      {type !== 'search' ? (
        input
      ) : (
        <span class="adorned search">
          <Icon name="search" size={16} />
          {input}
        </span>
      )}
    </Labeled>
  )
}

interface TextAreaProps extends FieldLabel, FieldValue {
  box?: Ref<HTMLTextAreaElement>
}

/** A multi-line text input. */
export function TextArea({ label, hint, error, box, value, onWrite, ...rest }: TextAreaProps) {
  const id = useId()
  return (
    <Labeled id={id} label={label} hint={hint} error={error}>
      <textarea
        id={id}
        ref={box ?? null}
        rows={3}
        value={value}
        readOnly={useContext(FieldsKept)}
        onInput={({ currentTarget }) => onWrite(currentTarget.value)}
        {...described(id, hint, error)}
        {...rest}
      />
    </Labeled>
  )
}

interface ChoiceProps extends FieldLabel {
  value: string
  onChoose: (value: string) => void
  choices: readonly { value: string; name: string }[]
}

/** A select. */
export function Choice({ label, hint, error, value, onChoose, choices }: ChoiceProps) {
  const id = useId()
  return (
    <Labeled id={id} label={label} hint={hint} error={error}>
      <span class="adorned select">
        <select
          id={id}
          value={value}
          disabled={useContext(FieldsKept)}
          onChange={({ currentTarget }) => onChoose(currentTarget.value)}
          {...described(id, hint, error)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.name}
            </option>
          ))}
        </select>
        <Icon name="down" size={16} />
      </span>
    </Labeled>
  )
}

interface SwitchProps {
  label: string
  hint?: ComponentChildren
  on: boolean
  busy?: boolean
  onSwitch: (on: boolean) => unknown
}

/**
 * A switch, which shows `on` whatever the browser would do on its own: it reports what the user wants, and moves when its
 * owner agrees. While it is busy it keeps focus and ignores clicks.
 */
export function Switch({ label, hint, on, onSwitch, ...rest }: SwitchProps) {
  const id = useId()
  const isKept = useContext(FieldsKept)
  const busy = rest.busy || isKept
  return (
    <div class="switch">
      <button
        id={id}
        type="button"
        role="switch"
        aria-checked={on}
        aria-disabled={busy}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onClick={() => void (busy || onSwitch(!on))}
      />
      <div>
        <label for={id}>{label}</label>
        {hint && (
          <p id={`${id}-hint`} class="quiet small">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

function Labeled({
  id,
  label,
  hint,
  error,
  children,
}: FieldLabel & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint && (
        <p id={`${id}-hint`} class="quiet small">
          {hint}
        </p>
      )}
      <p id={`${id}-wrong`} class="wrong small" role="alert">
        {error}
      </p>
    </div>
  )
}

function described(id: string, hint: ComponentChildren, wrong: string | undefined) {
  const by = [hint ? `${id}-hint` : '', wrong ? `${id}-wrong` : ''].join(' ').trim()
  return { ...(by && { 'aria-describedby': by }), ...(wrong && { 'aria-invalid': true }) } as const
}
