"""Vocabulary of the injection rules in other languages, as pattern fragments.

Write stems: a fragment matches at the start of a word, and `>` marks the end of a word. In languages that
attach particles or use no spaces, a fragment matches anywhere. Case, marks on Latin and Cyrillic letters, and
Arabic vowel marks do not matter.
"""

from typing import NamedTuple


class Language(NamedTuple):
    """What an injected instruction may say in one language."""

    ignore: str
    scope: str
    """Which instructions: the previous ones, all, or the model's own."""
    instructions: str
    told: str
    """What the model was told, as a phrase."""
    user: str
    not_tell: str
    """Do not tell, or without the knowledge of."""
    not_know: str
    """Must not or need not know."""
    reply: str
    secretly: str
    send: str
    read: str
    """Read or open, as a request; the form of descriptions, such as `reads`, is left out if it differs."""
    secrets: str
    """Credentials in the plural where the language has one."""
    quantity: str
    """Which secrets: all, the stored ones, or those of the user."""
    conversation: str
    never: str
    new_role: str
    """You are now, or from now on you."""
    starts_words: bool = True


LANGUAGES = {
    "German": Language(
        ignore=r"ignorier|missacht|vergiss|vergesst|vergessen sie|übergeh|setz.{1,40} außer kraft",
        scope=r"vorherig|bisherig|vorangegangen|vorig|obig|früher|ursprünglich|alle|sämtlich|dein|eure|ihre",
        instructions=r"anweisung|instruktion|vorgabe|systemprompt|system-prompt|sicherheitsregel",
        told=r"was (?:dir|ihnen|euch) .{0,20}(?:gesagt|mitgeteilt|aufgetragen|vorgegeben)",
        user=r"benutzer|nutzer|anwender",
        not_tell=r"(?:sage?|sagen sie|erzähle?|verrate?|erwähne|informiere|benachrichtige|"
        r"melde) .{0,40}(?:nicht|kein)|"
        r"(?:nichts?|ohne) .{0,16}(?:sagen|erzählen|verraten|erwähn|mitteil|mitzuteil|informieren|wissen)",
        not_know=r"(?:nichts?|nie) .{0,16}(?:erfahren|wissen|merken|bemerken|mitbekommen)|ohne wissen",
        reply=r"antwort",
        secretly=r"heimlich|klammheimlich|insgeheim|unbemerkt",
        send=r"send|schick|mitschick|übermitt|übertrag|häng|anhäng|füg|beifüg|hinzufüg|beileg|leite|"
        r"weiterleit|"
        r"hochlad|kopier|weitergeb|übergib|übergeb|mitgeb|schreib|trag|eintrag|leg>|gib>|setz",
        read=r"lies>|lese>|lesen|auslesen|öffne>|öffnen|lade>|kopiere>|schicke?>|sende>|hänge?>",
        secrets=r"passwörter|kennwörter|zugangsdaten|anmeldedaten|umgebungsvariablen|geheimnisse|"
        r"(?:api|ssh)[- ](?:schlüssel|keys)|private[nr]? schlüssel|zugriffstoken",
        quantity=r"alle|sämtlich|gespeichert|vorhanden|des (?:be)?nutzers|des anwenders|inhalt",
        conversation=r"gesprächsverlauf|chatverlauf|(?:ganze|gesamte)[ns]? (?:gespräch|chat|unterhaltung)|"
        r"verlauf (?:des|der|unser\w+) (?:gesprächs|chats|unterhaltung)|dein\w* system-?prompt",
        never=r"nie>|niemals|nicht>|keine",
        new_role=r"du bist (?:jetzt|nun|ab sofort)|ab (?:jetzt|sofort|nun) (?:bist|musst|wirst|sollst|"
        r"folgst) du",
    ),
    "French": Language(
        ignore=r"ignore[rsz]?>|oublie|négligez?>|néglige[rz]?>|ne (?:tiens|tenez) pas compte|"
        r"fais abstraction|"
        r"faites abstraction|passe[rz]? outre",
        scope=r"précédent|antérieur|ci-dessus|préalable|initial|tou(?:te)?s>|tes>|vos>|reçue",
        instructions=r"instruction|consigne",
        told=r"ce qu.{1,3}(?:on|il).{1,4}(?:t|vous|a).{0,4}(?:a |ont )?(?:dit|demandé)|qui précède",
        user=r"l.utilisateur|d.utilisateur|aux utilisateurs|utilisatrice",
        not_tell=r"(?:ne|n) .{0,6}(?:dis|dites|mentionne|informe|préviens|prévenez|révèle|avertis|signale|"
        r"parle|dire)|"
        r"n.(?:en parle|informe|avertis)|sans .{0,12}(?:prévenir|informer|avertir|dire)|à l.insu",
        not_know=r"(?:ne|n'\w+) .{0,20}(?:savoir|sache|au courant|apprenne|apprendre)",
        reply=r"réponse",
        secretly=r"en secret>|secrètement|discrètement|en cachette|furtivement|à l.insu",
        send=r"envo[iy]|transm|join[dst]|ajout|inclu|attache|copi|partag|téléverse|fourni|commun|insér|"
        r"divulg|mets>|mettez|place[rz]?>|écri[stv]|glisse|recopi|inscri",
        read=r"lis>|lisez|lire>|ouvre[rz]?>|ouvrir>|charge[rz]>|copie[rz]>|envoie|envoye[rz]|récupère[rz]>",
        secrets=r"mots de passe|identifiants|clés? (?:api|ssh|privée|secrète|d.api)|secrets>|jetons|"
        r"variables d.environnement",
        quantity=r"tou(?:te)?s>|enregistré|stocké|de l.utilisateur|contenu|chaque",
        conversation=r"historique (?:complet |entier )?(?:de la|des|du) (?:conversation|discussion|messages|"
        r"chat)|"
        r"(?:toute la|l.intégralité de la) (?:conversation|discussion)|(?:ton|votre) (?:prompt|"
        r"invite) système",
        never=r"jamais|ne pas|n'|ne>",
        new_role=r"tu es (?:maintenant|désormais)|vous êtes (?:maintenant|désormais) (?:un|le|en)|"
        r"(?:à partir de maintenant|dorénavant|désormais),? tu",
    ),
    "Spanish": Language(
        ignore=r"ignor[aeo]|olvid[ae]|desestim[ae]|haz caso omiso|haga caso omiso|"
        r"hacer caso omiso|no (?:hagas|haga) caso|pas[ae] por alto",
        scope=r"anterior|previ[ao]s?>|precedente|de arriba|tod[ao]s>|tus>|sus>|inicial|recibid",
        instructions=r"instrucci|indicaci|prompt del sistema",
        told=r"lo que (?:te|se te|le) .{0,12}(?:dij|dich|indic|orden)",
        user=r"usuari|humano>",
        not_tell=r"no (?:se )?(?:lo |le |les )?(?:digas?|diga|mencion|inform|cuent|revel|avis|comuni|notifi)|"
        r"sin (?:que (?:el|la|los) usuari\w+ (?:lo )?(?:sep|not|ente)|(?:decir|inform|avis|mencion))|"
        r"sin el conocimiento",
        not_know=r"no .{0,24}(?:saber|sepa|enterar|enteren?>|darse cuenta|dé cuenta)",
        reply=r"respuesta",
        secretly=r"en secreto|secretamente|a escondidas|discretamente|sigilosamente|disimuladamente",
        send=r"env[ií]|mand[aeo]|adjunt|inclu[iy]|agreg|añad|transmit|reenv|sub[ae]|copi|compart|pega|pegu|"
        r"proporcion|pon>|ponga|coloc|escrib|introdu",
        read=r"le[ea]>|leer>|léel|abr[ea]>|abrir>|copi[ae]>|envíe?>|envía>|carg[ae]>|extrae>|extraiga>",
        secrets=r"contraseñas|credenciales|claves? (?:de )?(?:api|ssh|privadas?|secretas?|de acceso)|"
        r"secretos|"
        r"tokens de|variables de entorno",
        quantity=r"tod[ao]s>|guardad|almacenad|del usuario|de los usuarios|contenido|cada",
        conversation=r"historial (?:completo |entero )?(?:de|del) (?:la |esta |los )?(?:conversaci|chat|"
        r"mensajes)|"
        r"toda (?:la|esta) conversación|conversación (?:completa|entera)|tu prompt (?:de|del) sistema",
        never=r"nunca|jamás|no>",
        new_role=r"(?:ahora eres|eres ahora|a partir de ahora,? (?:eres|debes|tú>|vas>|actúa)|"
        r"desde ahora,? (?:eres|debes|tú>))",
    ),
    "Portuguese": Language(
        ignore=r"ignor[ae]|esque[cç]|desconsider|desrespeit|não (?:siga|sigas|leve)",
        scope=r"anterior|prévi[ao]s?>|precedente|acima|tod[ao]s>|suas>|tuas>|teus>|seus>|inicia",
        instructions=r"instruç|orientaç|prompt d[eo] sistema",
        told=r"o que (?:te|lhe|foi|você) .{0,16}(?:dit|diss|ped|orient)",
        user=r"usuári|utilizador",
        not_tell=r"não (?:o |lhe )?(?:digas?|diga|mencion|inform|cont[ea]|revel|avis|comuni|notifi)|"
        r"sem (?:que (?:o|a|os) (?:usuári|utilizador)\w* (?:saib|not|perceb)|(?:dizer|contar|inform|avis))|"
        r"sem o conhecimento",
        not_know=r"não .{0,20}(?:saber|saiba|perceb|descobr)",
        reply=r"resposta",
        secretly=r"em segredo|secretamente|às escondidas|discretamente|sorrateiramente",
        send=r"envi|encaminh|mand[aeo]|anex|inclu|adicion|acrescent|transmit|copi|compartilh|partilh|cole>|"
        r"forne[cç]|colo[cq]|ponh|escrev|insir|insere",
        read=r"leia>|lê>|ler>|abr[ae]>|abrir>|copi[ae]>|envie>|carregue>|extraia>",
        secrets=r"senhas|palavras-passe|credenciais|chaves? (?:de )?(?:api|ssh|privadas?|secretas?|"
        r"de acesso)|"
        r"segredos|variáveis de ambiente",
        quantity=r"tod[ao]s>|salv[ao]s|guardad|armazenad|do usuário|do utilizador|conteúdo|cada",
        conversation=r"histórico (?:completo |inteiro )?(?:da|do|das|de) (?:conversa|chat|mensagens|bate)|"
        r"toda a conversa|conversa (?:completa|inteira)|seu prompt d[eo] sistema",
        never=r"nunca|jamais|não>",
        new_role=r"(?:agora você é|você agora é|agora és>|a partir de agora,? (?:você|tu>|és>|deve))",
    ),
    "Italian": Language(
        ignore=r"ignor[aio]|ignorare|dimentic|trascur|non (?:tenere|tieni) conto",
        scope=r"precedent|anterior|sopra|finora|tutt[ei]>|tue>|tuoi>|vostr|inizial|ricevut",
        instructions=r"istruzion|indicazion|prompt di sistema",
        told=r"quello che ti .{0,12}detto|ciò che ti .{0,12}detto|quanto (?:ti è stato )?detto",
        user=r"utent|all.utente|dell.utente|l.utente",
        not_tell=r"non (?:lo |glielo )?(?:dire|dirl|dica|menzion|inform|rivel|avvis|comunic|raccont|"
        r"parlarne)|"
        r"senza (?:che l.utente|(?:dirl|dire|inform|avvis|avvert))|all.insaputa",
        not_know=r"non .{0,24}(?:saper|sappia|accorg|scopr|venire a conoscenza)",
        reply=r"risposta",
        secretly=r"di nascosto|segretamente|in segreto|furtivamente|all.insaputa",
        send=r"invi|mand[aio]|alleg|includ|aggiung|trasmett|inoltr|copi|condivi|incolla|forni|inser|metti|"
        r"metta>|scriv|inserisc",
        read=r"leggi>|legga>|leggere>|apri>|aprire>|copia>|invia>|carica>|estrai>",
        secrets=r"tutte le password|password (?:salvat|memorizzat|dell)|credenziali|"
        r"chiav[ei] (?:api|ssh|privat|segret|di accesso)|segreti|variabili d.ambiente",
        quantity=r"tutt[ei]>|salvat|memorizzat|dell.utente|degli utenti|contenut|ogni",
        conversation=r"cronologia (?:completa )?(?:della|delle|dei) (?:conversazion|chat|messaggi)|"
        r"(?:intera|tutta la) conversazione|tuo prompt di sistema",
        never=r"mai>|non>",
        new_role=r"(?:ora sei>|adesso sei>|d.ora in (?:poi|avanti),? (?:sei>|devi>|tu>))",
    ),
    "Dutch": Language(
        ignore=r"negeer|negeren|vergeet|vergeten|trek je niets aan",
        scope=r"eerder|vorige|voorgaande|bovenstaande|alle|jouw|je>|uw>|oorspronkelijk",
        instructions=r"instructie|aanwijzing|systeemprompt",
        told=r"wat (?:je|jou|u) .{0,16}(?:verteld|gezegd|opgedragen)",
        user=r"gebruiker",
        not_tell=r"(?:vertel|zeg|meld|noem|vermeld|informeer|onthul) .{0,30}niet|"
        r"(?:niet|niets|zonder) .{0,16}(?:vertel|zeggen|vermeld|melden|informer|medeweten|weten)",
        not_know=r"(?:niets?|nooit) .{0,16}(?:weten|weet>|merken|ontdekken|te horen)",
        reply=r"antwoord",
        secretly=r"stiekem|heimelijk|ongemerkt|in het geheim",
        send=r"stuur|sturen|meestu|doorstu|verzend|verstu|voeg|toevoeg|bijvoeg|meegeven|geef|plak|kopieer|"
        r"upload|deel>|zet>|schrijf|plaats|vul>|invul",
        read=r"lees>|lezen>|open>|openen>|kopieer>|stuur>|laad>",
        secrets=r"wachtwoorden|inloggegevens|(?:api|ssh)-?(?:sleutels?|keys)|privésleutel|geheimen|"
        r"omgevingsvariabelen",
        quantity=r"alle|opgeslagen|bewaarde|van de gebruiker|inhoud|elk",
        conversation=r"gespreksgeschiedenis|chatgeschiedenis|(?:hele|volledige) (?:gesprek|chat|conversatie)|"
        r"jouw systeemprompt",
        never=r"nooit|niet>|geen>",
        new_role=r"(?:je bent nu|jij bent nu|vanaf nu (?:ben|moet|zul|volg) j)",
    ),
    "Polish": Language(
        ignore=r"ignoruj|zignoruj|zignorow|zapomnij|zlekceważ|nie zważaj",
        scope=r"poprzedni|wcześniejsz|powyższ|dotychczasow|wszystk|wszelki|swoje|twoje|pierwotn",
        instructions=r"instrukcj|polece|wytyczn|prompt systemow",
        told=r"co ci .{0,12}(?:powiedzian|mówion|kazan)",
        user=r"użytkownik",
        not_tell=r"nie (?:mów|wspomina|informuj|powiadamia|ujawnia|zdradza|przekazuj|pokazuj)|"
        r"bez (?:wiedzy|informowania|powiadamiania)",
        not_know=r"nie .{0,24}(?:wiedzie|dowiedzie|dowie>|zauważy)",
        reply=r"odpowiedzi",
        secretly=r"potajemnie|w tajemnicy|po cichu|ukradkiem|bez wiedzy",
        send=r"wyśl|wysył|prześl|przesył|dołącz|załącz|dodaj|dodał|przekaż|wklej|skopiuj|udostępn|ujawni|"
        r"umieść|wpisz|zapisz|wstaw",
        read=r"przeczytaj|odczytaj|wczytaj|otwórz|skopiuj|wyślij|pobierz",
        secrets=r"hasła|haseł|dane logowania|poświadcze|klucz\w* (?:api|ssh|prywatn|dostęp)|sekrety|"
        r"zmienne środowiskow",
        quantity=r"wszystk|zapisan|przechowywan|użytkownika|zawartość|każde",
        conversation=r"(?:całą|pełną|cała) (?:historię |historia )?(?:rozmow|konwersac|czat)|"
        r"histori[ęa] (?:rozmow|czatu|konwersac)",
        never=r"nigdy|nie>",
        new_role=r"(?:jesteś teraz|teraz jesteś|od teraz (?:jesteś|będziesz|masz|musisz))",
    ),
    "Russian": Language(
        ignore=r"игнорируй|проигнорируй|игнорировать|забудь|забыть|пренебреги|не обращай|не следуй",
        scope=r"предыдущ|прежн|прошл|вышеуказан|выше|все>|всё|всех|любые|твои|свои|ваши|исходн|системн|"
        r"первоначальн",
        instructions=r"инструкци|указани|распоряжени|предписани|системн.{1,4}промпт",
        told=r"что (?:тебе|вам) .{0,12}(?:говорил|сказал|сказан|велел)|сказанное (?:ранее|выше)",
        user=r"пользовател|юзер",
        not_tell=r"не (?:говори|сообщай|сообщайте|упоминай|информируй|уведомляй|рассказывай|раскрывай|"
        r"показывай)|"
        r"без (?:ведома|уведомления)",
        not_know=r"не .{0,24}(?:знать|знал|узна|замети|заметил|догада)",
        reply=r"ответе|ответ>",
        secretly=r"тайно|втайне|тайком|незаметно|скрытно|без ведома",
        send=r"отправ|пришли|перешли|пересл|прилож|прикреп|включи|добав|передай|передать|скопир|вставь|"
        r"загрузи|выгрузи|помест|запиши|впиши|укажи|внеси",
        read=r"прочитай|прочти|прочесть|считай|открой|откройте|скопируй|отправь|загрузи",
        secrets=r"пароли|паролей|учётные данные|ключи|api-ключ|ssh-ключ|закрыт.{1,4}ключ|секреты|токены|"
        r"переменные окружения",
        quantity=r"все>|всё|всех|сохранённ|сохраненн|пользователя|содержимое|кажд",
        conversation=r"(?:вся|всю|полн.{1,5}) (?:истори. )?(?:переписк|диалог|разговор|бесед)|"
        r"истори[юя] (?:переписки|диалога|разговора|чата|беседы)",
        never=r"никогда|не>",
        new_role=r"(?:теперь ты|отныне ты|с этого момента ты|ты теперь)",
    ),
    "Ukrainian": Language(
        ignore=r"ігноруй|проігноруй|ігнорувати|забудь|знехтуй|не зважай|не дотримуйся",
        scope=r"попередн|колишн|вищезазначен|вище|усі>|всі>|усіх|будь-які|твої|свої|ваші|початков|системн",
        instructions=r"інструкці|вказівк|розпоряджен|настанов|системн.{1,4}промпт",
        told=r"що (?:тобі|вам) .{0,12}(?:казал|сказал|сказан|говорил)",
        user=r"користувач",
        not_tell=r"не (?:кажи|кажіть|повідомляй|згадуй|інформуй|розповідай|розкривай|показуй)|без (?:відома|"
        r"повідомлення)",
        not_know=r"не .{0,24}(?:знати|знав|дізна|поміти|помітив)",
        reply=r"відповіді|відповідь",
        secretly=r"таємно|потай|непомітно|приховано|без відома",
        send=r"надішл|надісл|відправ|перешли|пересл|додай|додати|долучи|прикріп|включи|передай|скопіюй|"
        r"встав|поміст|запиши|впиши|вкажи|внеси",
        read=r"прочитай|зчитай|відкрий|відкрийте|скопіюй|надішли|завантаж",
        secrets=r"паролі|паролів|облікові дані|ключі|api-ключ|ssh-ключ|секрети|токени|змінні середовища",
        quantity=r"усі>|всі>|усіх|всіх|збережен|користувача|вміст|кожн",
        conversation=r"(?:вся|всю|усю|повн.{1,5}) (?:істор.{1,5} )?(?:розмов|бесід|листуван|діалог)|"
        r"істор[іи].{1,5} (?:розмови|чату|бесіди|листування|діалогу)",
        never=r"ніколи|не>",
        new_role=r"(?:тепер ти|відтепер ти|віднині ти|ти тепер)",
    ),
    "Turkish": Language(
        ignore=r"yok say|görmezden gel|göz ardı et|dikkate alma|unut>|unutun|boşver|aldırma",
        scope=r"önceki|yukarıdaki|daha önce|geçmiş|tüm|bütün|kendi|mevcut|ilk>",
        instructions=r"talimat|yönerge|sistem (?:istemi|mesajı|prompt)",
        told=r"sana (?:söylenen|verilen)|size (?:söylenen|verilen)",
        user=r"kullanıcı",
        not_tell=r"(?:söyleme|bahsetme|bildirme|bilgi verme|haber verme|açıklama|gösterme)(?:yin|yiniz)?>|"
        r"haberi olmadan|söylemeden|bildirmeden|fark ettirmeden",
        not_know=r"haberi olmasın|bilmemeli|bilmesin|bilmesine gerek|fark etmemeli|fark etmesin|öğrenmemeli|"
        r"öğrenmesin",
        reply=r"yanıt|cevap|cevab",
        secretly=r"gizlice|gizli olarak|fark ettirmeden|haberi olmadan|sessizce",
        send=r"gönder|ilet|ekle|yapıştır|kopyala|yükle|paylaş|dahil et|aktar|ilave et|yaz>|yazın|koy>|"
        r"yerleştir",
        read=r"oku>|okuyun|aç>|açın|kopyala|gönder>|gönderin|okur musun|okuman",
        secrets=r"parola|şifre(?:ler|si)|kimlik bilgi|api anahtar|ssh anahtar|özel anahtar|gizli anahtar|"
        r"ortam değişken",
        quantity=r"tüm|bütün|kayıtlı|kullanıcının|içeriğ|her>",
        conversation=r"(?:konuşma|sohbet|görüşme) (?:geçmiş|kayd)|(?:tüm|bütün) (?:konuşma|sohbet)|"
        r"konuşmanın tamam",
        never=r"asla|hiçbir zaman|sakın",
        new_role=r"(?:sen artık|artık sen|bundan sonra sen|şu andan itibaren (?:sen|bir))",
    ),
    "Hindi": Language(
        ignore=r"अनदेखा|अनदेखी|नज़रअंदाज़|नज़रंदाज़|नजरअंदाज|भूल जा|अवहेलना|उपेक्षा|ध्यान न दें|इग्नोर",
        scope=r"पिछल|पूर्व|पहले|उपरोक्त|ऊपर|सभी|सारे|अपने|आपके|मूल",
        instructions=r"निर्देश|अनुदेश|आदेश|हिदायत|सिस्टम प्रॉम्प्ट",
        told=r"जो (?:भी )?(?:आपको|तुम्हें) .{0,12}(?:बताया|कहा)",
        user=r"उपयोगकर्ता|यूज़र|यूजर|प्रयोक्ता",
        not_tell=r"(?:मत|न|नहीं|ना) (?:बता|कह|सूचित|उल्लेख)|(?:सूचित|उल्लेख|ज़िक्र|जिक्र) (?:न|मत|नहीं|ना) कर|"
        r"बिना बताए|बताए बिना",
        not_know=r"पता (?:न|नहीं|ना) (?:चल|लग)|(?:जानने|जानना|जानकारी) .{0,16}(?:नहीं|न)>|न जान",
        reply=r"उत्तर|जवाब",
        secretly=r"चुपके|चुपचाप|गुप्त रूप|छिपकर|छुपकर|चोरी-छिपे",
        send=r"भेज|संलग्न|शामिल|जोड़|साझा|अपलोड|कॉपी|प्रतिलिपि|पेस्ट|अग्रेषित|लिख|डाल|रखें",
        read=r"पढ़|खोल|कॉपी|भेज",
        secrets=r"पासवर्ड|कूटशब्द|क्रेडेंशियल|(?:api|एपीआई|ssh|निजी|गुप्त) (?:की|कुंजी|कुंजियाँ|कुंजियां)|एनवायरनमेंट वैरिएबल",
        quantity=r"सभी|सारे|सहेजे|संग्रहीत|उपयोगकर्ता के|सामग्री|हर>",
        conversation=r"(?:बातचीत|वार्तालाप|चैट) का (?:पूरा )?(?:इतिहास|रिकॉर्ड)|पूरी (?:बातचीत|चैट)|पूरा वार्तालाप",
        never=r"कभी न|न करें|मत>|नहीं",
        new_role=r"(?:अब से (?:आप|तुम)|आप अब एक|तुम अब एक)",
    ),
    "Chinese": Language(
        ignore=r"忽略|无视|無視|忽视|忽視|不理会|不要理会|别管|不用管|忘记|忘掉|忘記|抛开|撇开",
        scope=r"之前|以前|先前|前面|上面|以上|上述|此前|前述|所有|全部|一切|你的|您的|系统|原有|原来|任何",
        instructions=r"指令|指示|指引|提示词|系统提示|系統提示|吩咐",
        told=r"(?:告诉|告訴|说过|交代)(?:过)?(?:你|您)的|跟你说的",
        user=r"用户|用戶|使用者|他人|任何人",
        not_tell=r"(?:不要|别|勿|不得|切勿|不必|无需|不能|不可|請勿|请勿)(?:向|让|對|对|跟|和|"
        r"把)?.{0,10}(?:告诉|告訴|告知|提及|提到|透露|说明|通知|提醒|知道|察觉|发现|泄露)|"
        r"(?:不知情|瞒着|隐瞒|毫不知情|不让)",
        not_know=r"(?:不应|不该|不能|不必|不需要|无需|没有必要|没必要|不可|别让|不得).{0,6}(?:知道|知晓|"
        r"了解|得知|察觉|发现)",
        reply=r"回答|回复|答复|回覆",
        secretly=r"偷偷|悄悄|暗中|秘密地|悄无声息",
        send=r"发送|發送|发给|发到|传给|传送|附上|附加|附带|添加|加入|上传|上傳|转发|轉發|粘贴|复制|填入|"
        r"传入|提交|写进|写入|写到|放进|放入|填进|填到|填写",
        read=r"读取|讀取|阅读|打开|打開|查看|复制|获取|读一下|发送|上传",
        secrets=r"密码|密碼|密钥|私钥|金鑰|凭证|凭据|憑證|令牌|环境变量|口令",
        quantity=r"所有|全部|保存的|存储的|用户的|使用者的|一切",
        conversation=r"(?:完整|整个)的?(?:对话|聊天|會話|会话|對話)|(?:对话|聊天|会话|對話)(?:历史|记录|"
        r"歷史|紀錄)|系统提示词",
        never=r"不要|切勿|请勿|禁止|不得|绝不|不会|勿",
        new_role=r"(?:你现在是|你現在是|从现在(?:开始|起),?你|從現在(?:開始|起),?你|现在你是)",
        starts_words=False,
    ),
    "Japanese": Language(
        ignore=r"無視|忘れ(?:て|なさい|ろ|る)|従わない|従わず",
        scope=r"これまで|以前|前の|上記|先ほど|今まで|すべて|全て|全ての|あなたの|事前|システム|元の|"
        r"いかなる",
        instructions=r"指示|指令|プロンプト",
        told=r"言われた(?:こと|内容)|伝えられた(?:こと|内容)",
        user=r"ユーザ|利用者|使用者|誰にも",
        not_tell=r"(?:言わ|伝え|知らせ|教え|話さ|通知し|報告し|明かさ|触れ|言及し|気づかれ|悟られ)(?:ない|"
        r"ず|ぬ)|黙って|内緒|秘密に",
        not_know=r"知られては|知る必要(?:は|が)(?:ない|ありません)|知らせる必要(?:は|が)(?:ない|"
        r"ありません)|気づ(?:い|か).{0,4}(?:ない|いけ|なら)|悟られては",
        reply=r"回答|返答|返信|応答|答え",
        secretly=r"こっそり|密かに|ひそかに|秘密裏|気づかれ(?:ない|ず)|黙って|内緒で",
        send=r"送信|送って|送る|送付|添付|添え|含め|追加|転送|渡し|渡す|貼り付け|コピー|アップロード|共有|"
        r"入れて|書いて|書き込|記入|記載",
        read=r"読んで|読み取って|読み込んで|読み取り|開いて|コピーして|取得して|参照して|読ん",
        secrets=r"パスワード|認証情報|秘密鍵|(?:api|ssh) ?(?:キー|鍵)|トークン|環境変数|シークレット",
        quantity=r"すべて|全て|全部|保存され|ユーザーの|中身|内容|あらゆる",
        conversation=r"(?:会話|チャット|対話|やり取り)の?(?:全)?(?:履歴|記録|ログ|全文)|(?:全|"
        r"すべて)の会話|システムプロンプト",
        never=r"しないで|しません|してはいけ|しては(?:なら|いけ)|禁止|決して|絶対に",
        new_role=r"(?:あなたは(?:今|これ)から|今からあなたは|これからあなたは|あなたは今や)",
        starts_words=False,
    ),
    "Korean": Language(
        ignore=r"무시|잊어|잊으|따르지 ?(?:마|말)",
        scope=r"이전|앞의|앞선|위의|지금까지|기존|모든|전부|당신의|너의|시스템|원래",
        instructions=r"지시|지침|프롬프트",
        told=r"들은 (?:것|내용|말)|말한 (?:것|내용)",
        user=r"사용자|유저|이용자|누구에게도",
        not_tell=r"(?:알리|말하|언급하|밝히|보고하|전하|통지하|드러내|이야기하|얘기하)지 ?(?:마|말|않|"
        r"않고)|모르게|비밀로",
        not_know=r"(?:알면|알아서는|눈치채면) ?(?:안|않)|알 필요(?:는|가)? ?없|몰라야|알아차리지",
        reply=r"답변|응답|답장|대답",
        secretly=r"몰래|은밀|비밀리|눈치채지|모르게",
        send=r"보내|전송|첨부|포함|추가|전달|업로드|복사|붙여|제출|공유|넘겨|적으|적어|기입|기록하|써 ",
        read=r"읽고|읽어|읽으|열어|열고|불러|복사해|가져와|확인하고",
        secrets=r"비밀번호|암호|자격 ?증명|(?:api|ssh|개인|비밀|인증) ?키|토큰|환경 ?변수",
        quantity=r"모든|전부|저장된|사용자의|내용|전체",
        conversation=r"(?:대화|채팅)의? ?(?:기록|내역|이력)|전체 ?대화|시스템 ?프롬프트",
        never=r"절대|마세요|마십시오|않습니다|금지",
        new_role=r"(?:이제부터 (?:너|당신|넌)|너는 이제|당신은 이제|지금부터 (?:너|당신|넌))",
        starts_words=False,
    ),
    "Arabic": Language(
        ignore=r"تجاهل|تجاهلي|انس |انسى|انسَ|تغاض|اهمل|أهمل|لا تلتزم|لا تتبع",
        scope=r"السابق|أعلاه|المذكورة|جميع|كل |كافة|الخاصة بك|الأصلي|النظام|اي |أي |المعطاة",
        instructions=r"تعليمات|التعليمات|توجيه|التوجيهات|إرشاد|الإرشادات|أوامر|الأوامر|موجه النظام",
        told=r"ما (?:قيل|أخبر|طلب) (?:لك|منك|به)|كل ما قيل",
        user=r"المستخدم|للمستخدم|مستخدم|أي شخص",
        not_tell=r"لا (?:تخبر|تذكر|تقل|تبلغ|تعلم|تكشف|تظهر|تشر)|(?:دون|بدون) (?:علم|إخبار|إبلاغ|معرفة)",
        not_know=r"(?:ألا|لا|لن|الا) .{0,12}(?:يعلم|يعرف|يلاحظ|يدرك)|لا يحتاج .{0,20}معرفة",
        reply=r"إجابت|الإجابة|ردك|الرد|جواب",
        secretly=r"سرا|سرًا|خفية|خلسة|بصمت|(?:دون|بدون) علم",
        send=r"أرسل|ارسل|ترسل|إرسال|أرفق|ارفق|ترفق|إرفاق|أضف|اضف|تضيف|ضمن|تضمين|حمل|انسخ|مرر|شارك|أدرج|ضع|"
        r"اكتب|أدخل",
        read=r"اقرأ|إقرأ|اقرا|افتح|انسخ|تقرأ|أرسل",
        secrets=r"كلمات (?:المرور|السر)|بيانات الاعتماد|بيانات الدخول|مفاتيح|المفتاح (?:الخاص|السري)|"
        r"الأسرار|متغيرات البيئة|الرموز السرية",
        quantity=r"جميع|كل |كافة|المحفوظ|المخزن|المستخدم|محتو",
        conversation=r"سجل (?:المحادثة|الدردشة|الحوار)|(?:المحادثة|الدردشة) (?:كاملة|بالكامل|بأكملها)|"
        r"كامل المحادثة|موجه النظام",
        never=r"لا ترسل|أبدا|لا تقم|يمنع|تجنب",
        new_role=r"(?:أنت الآن|انت الآن|من الآن فصاعدا)",
        starts_words=False,
    ),
}
