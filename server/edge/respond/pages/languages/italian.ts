import type { VisitorTexts } from './visitor-texts.ts'

export const ITALIAN: VisitorTexts = {
  siteNotFound: { title: 'Sito non trovato', text: 'Controlla che l’indirizzo non contenga errori.' },
  siteNotPublished: {
    title: 'Sito non ancora pubblicato',
    text: 'La prima versione non è completa. Riprova più tardi.',
  },
  versionNotFound: {
    title: 'Versione non trovata',
    text: 'Questa versione del sito non è mai stata completata o è stata eliminata.',
  },
  pageNotFound: {
    title: 'Pagina non trovata',
    text: 'Controlla l’indirizzo o inizia dalla pagina iniziale.',
  },
  siteExpired: { title: 'Questo sito è scaduto', text: 'È stato pubblicato per un periodo limitato.' },
  badRequest: { title: 'Richiesta non valida', text: 'L’indirizzo o la richiesta non è corretta.' },
  misdirected: {
    title: 'Richiesta indirizzata in modo errato',
    text: 'Questa connessione appartiene a un altro sito. Ricarica la pagina.',
  },
  methodNotAllowed: {
    title: 'Metodo non consentito',
    text: 'Questo indirizzo non accetta questo tipo di richiesta.',
  },
  preconditionFailed: { title: 'Precondizione non soddisfatta', text: 'Il file è cambiato.' },
  rangeNotSatisfiable: {
    title: 'Intervallo non disponibile',
    text: 'La parte richiesta è oltre la fine del file.',
  },
  internalError: {
    title: 'Si è verificato un errore',
    text: 'Il server non è riuscito a completare la richiesta. Riprova più tardi.',
  },
  unavailable: { title: 'Temporaneamente non disponibile', text: 'Riprova tra un momento.' },
  unreadableForm: { title: 'Modulo illeggibile', text: 'Torna indietro e inserisci di nuovo la password.' },
  siteSuspended: {
    title: 'Questo sito è sospeso',
    text: 'Il gestore di questo servizio lo ha messo offline.',
  },
  fileBlocked: { title: 'File bloccato', text: 'Il gestore di questo servizio ha bloccato questo file.' },
  homePage: 'Vai alla pagina iniziale',
  reportAbuse: 'Segnala un abuso',
  terms: 'Termini di servizio',
  imprint: 'Note legali',
  contactOperator: 'Contatta il gestore',
  anonymousNotice: {
    title: 'Questo sito non è verificato',
    text: 'È stato pubblicato senza account su {service}. Non inserire password o dati di pagamento se non sai chi lo ha pubblicato.',
    button: 'Continua verso il sito',
  },
  password: {
    title: 'Questo sito è protetto da password',
    text: 'Chiedi la password al proprietario.',
    label: 'Password',
    button: 'Apri il sito',
    missing: 'Inserisci la password.',
    wrong: 'Password errata. Riprova.',
    tooManyAttempts: 'Troppe password errate. Riprova tra {minutes} min.',
  },
  report: {
    title: 'Segnala una pagina',
    text: 'Il gestore di questo servizio riceve la tua segnalazione.',
    url: 'Indirizzo della pagina',
    reason: 'Qual è il problema?',
    reasons: {
      phishing: 'Chiede password o dati di pagamento con l’inganno',
      malware: 'Diffonde software dannoso',
      illegal: 'Il suo contenuto è illegale',
      copyright: 'Viola il mio diritto d’autore',
      other: 'Altro',
    },
    details: 'Dettagli',
    email: 'Il tuo indirizzo email, se il gestore può contattarti',
    button: 'Invia la segnalazione',
    invalid: 'Controlla questi campi:',
    refused: 'La segnalazione non è stata accettata. Riprova più tardi.',
  },
  reportReceived: { title: 'Segnalazione ricevuta', text: 'Grazie. Il gestore la esaminerà.' },
  files: { title: 'File', count: '{count} file, {size}', open: 'Apri', download: 'Scarica' },
}
