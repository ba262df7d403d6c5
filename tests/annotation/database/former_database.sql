BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE assignments (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	task_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	place INTEGER, 
	live BOOLEAN NOT NULL, 
	state TEXT NOT NULL, 
	flagged BOOLEAN NOT NULL, 
	note TEXT NOT NULL, 
	opened_at DATETIME, 
	alive_at DATETIME, 
	seconds FLOAT NOT NULL, 
	spent FLOAT NOT NULL, 
	done_event INTEGER, 
	CONSTRAINT assignments_person_id_fk FOREIGN KEY(person_id) REFERENCES people (id), 
	CONSTRAINT assignments_project_id_fk FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT assignments_task_id_fk FOREIGN KEY(task_id) REFERENCES tasks (id), 
	CONSTRAINT assignments_task_id_person_id_unique UNIQUE (task_id, person_id)
);
INSERT INTO "assignments" VALUES(1,1,1,1,1,1,'done',0,'看过指南','2026-03-01 08:00:00.000000',NULL,0.0,0.0,2);
INSERT INTO "assignments" VALUES(2,1,2,1,2,1,'done',0,'','2026-03-01 08:06:00.000000',NULL,0.0,0.0,8);
INSERT INTO "assignments" VALUES(3,1,2,2,1,1,'done',0,'','2026-03-01 08:09:00.000000',NULL,0.0,0.0,NULL);
INSERT INTO "assignments" VALUES(4,1,1,2,2,1,'done',0,'','2026-03-01 08:03:00.000000',NULL,0.0,0.0,4);
INSERT INTO "assignments" VALUES(5,1,1,3,NULL,1,'done',0,'','2026-03-01 08:09:00.000000',NULL,0.0,0.0,10);
CREATE TABLE current_votes (
	task_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	wording TEXT NOT NULL, 
	project_id INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	vote_id INTEGER NOT NULL, 
	CONSTRAINT current_votes_pk PRIMARY KEY (task_id, person_id, "key", wording), 
	CONSTRAINT current_votes_person_id_fk FOREIGN KEY(person_id) REFERENCES people (id), 
	CONSTRAINT current_votes_project_id_fk FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT current_votes_task_id_fk FOREIGN KEY(task_id) REFERENCES tasks (id)
);
INSERT INTO "current_votes" VALUES(1,1,'c08ce9e5e158637e73830','w7ed4bef7d522',1,'1',1);
INSERT INTO "current_votes" VALUES(1,1,'c08ce9e5e158637e73830','w1ac262e5e2f4',1,'1',2);
INSERT INTO "current_votes" VALUES(1,2,'c08ce9e5e158637e73830','w7ed4bef7d522',1,'0',3);
INSERT INTO "current_votes" VALUES(1,2,'c08ce9e5e158637e73830','w1ac262e5e2f4',1,'1',4);
INSERT INTO "current_votes" VALUES(2,1,'cb1ea119c409a55e22c92','w7ed4bef7d522',1,'1',5);
INSERT INTO "current_votes" VALUES(2,1,'cb1ea119c409a55e22c92','w1ac262e5e2f4',1,'2',7);
INSERT INTO "current_votes" VALUES(1,3,'c08ce9e5e158637e73830','w7ed4bef7d522',1,'0',8);
INSERT INTO "current_votes" VALUES(2,2,'cb1ea119c409a55e22c92','w7ed4bef7d522',1,'1',9);
INSERT INTO "current_votes" VALUES(2,2,'cb1ea119c409a55e22c92','w1ac262e5e2f4',1,'2',10);
CREATE TABLE drafts (
	assignment_id INTEGER NOT NULL, 
	data TEXT NOT NULL, 
	saved_at DATETIME NOT NULL, 
	CONSTRAINT drafts_pk PRIMARY KEY (assignment_id), 
	CONSTRAINT drafts_assignment_id_fk FOREIGN KEY(assignment_id) REFERENCES assignments (id) ON DELETE CASCADE
);
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	task_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	seconds FLOAT, 
	active_seconds FLOAT, 
	detail TEXT NOT NULL, 
	CONSTRAINT events_person_id_fk FOREIGN KEY(person_id) REFERENCES people (id), 
	CONSTRAINT events_project_id_fk FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT events_task_id_fk FOREIGN KEY(task_id) REFERENCES tasks (id)
);
INSERT INTO "events" VALUES(1,1,1,1,'open','2026-03-01 08:00:00.000000',NULL,NULL,'{}');
INSERT INTO "events" VALUES(2,1,1,1,'submit','2026-03-01 08:00:00.000000',0.0,NULL,'{"note":"看过指南"}');
INSERT INTO "events" VALUES(3,1,1,2,'open','2026-03-01 08:03:00.000000',NULL,NULL,'{}');
INSERT INTO "events" VALUES(4,1,1,2,'submit','2026-03-01 08:03:00.000000',0.0,NULL,'{}');
INSERT INTO "events" VALUES(5,1,2,1,'open','2026-03-01 08:06:00.000000',NULL,NULL,'{}');
INSERT INTO "events" VALUES(6,1,2,1,'submit','2026-03-01 08:06:00.000000',0.0,NULL,'{}');
INSERT INTO "events" VALUES(7,1,2,1,'open','2026-03-01 08:06:00.000000',NULL,NULL,'{}');
INSERT INTO "events" VALUES(8,1,2,1,'submit','2026-03-01 08:06:00.000000',0.0,NULL,'{}');
INSERT INTO "events" VALUES(9,1,1,3,'open','2026-03-01 08:09:00.000000',NULL,NULL,'{}');
INSERT INTO "events" VALUES(10,1,1,3,'submit','2026-03-01 08:09:00.000000',0.0,NULL,'{"reason":"据教科书"}');
INSERT INTO "events" VALUES(11,1,2,2,'import','2026-03-01 08:09:00.000000',NULL,NULL,'{"door":"csv"}');
CREATE TABLE people (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	code TEXT NOT NULL, 
	token_hash TEXT, 
	language TEXT NOT NULL, 
	invited_at DATETIME NOT NULL, 
	expires_at DATETIME NOT NULL, 
	revoked BOOLEAN NOT NULL, 
	seen_at DATETIME, 
	projects TEXT NOT NULL, 
	CONSTRAINT people_pk PRIMARY KEY (id), 
	CONSTRAINT people_code_unique UNIQUE (code), 
	CONSTRAINT people_name_unique UNIQUE (name), 
	CONSTRAINT people_token_hash_unique UNIQUE (token_hash)
);
INSERT INTO "people" VALUES(1,'专家1','annotator','A1','4ce1f5290ec8d892521be4e3b5274eddd3fd57d0acf32faac24b06fdd571861f','','2026-03-01 08:00:00.000000','2026-03-31 08:00:00.000000',0,NULL,'[]');
INSERT INTO "people" VALUES(2,'专家2','annotator','A2','88ed6018e8dd3e7465e6fbab92d528d59a6a349a72dbdc4455cb690c7a79f485','','2026-03-01 08:00:00.000000','2026-03-31 08:00:00.000000',0,NULL,'[]');
INSERT INTO "people" VALUES(3,'裁决者','adjudicator','J1','2e51d2c7d9794d69caf0c40225e632b852e26f4180fa06a9eb72cc17ee85a805','','2026-03-01 08:00:00.000000','2026-03-31 08:00:00.000000',0,NULL,'[]');
CREATE TABLE projects (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	guideline TEXT NOT NULL, 
	language TEXT NOT NULL, 
	seed BIGINT NOT NULL, 
	benchmark TEXT NOT NULL, 
	live BOOLEAN NOT NULL, 
	CONSTRAINT projects_pk PRIMARY KEY (id), 
	CONSTRAINT projects_name_unique UNIQUE (name)
);
INSERT INTO "projects" VALUES(1,'p','{"kind":"review","questions":{"sound":{"order":1,"subject":"claim","label":"成立","text":"题干本身是否成立？","answer":"binary","required":true,"options":{},"bands":{},"step":0.05,"tolerance":0.25,"threshold":0.5,"max_chars":4000,"lines":3},"grade":{"order":2,"subject":"claim","label":"难度","text":"题目有多难？","answer":"scale","required":true,"options":{"1":"容易","2":"中等","3":"困难"},"bands":{},"step":0.05,"tolerance":0.25,"threshold":0.5,"max_chars":4000,"lines":3}},"rule":"adjudicate","keep":{},"min_evidence":0,"thresholds":[],"fields":{"text":"题干"},"bootstrap":{"samples":100,"level":0.9,"seed":1},"title":"妊娠题目","heading":"题目","paragraph":"材料","per_task":2,"guideline":null,"suggested_seconds":null,"min_seconds":null,"gold":null}','# 指南','zh',7,'',1);
CREATE TABLE sessions (
	hash TEXT NOT NULL, 
	person_id INTEGER NOT NULL, 
	language TEXT NOT NULL, 
	started_at DATETIME NOT NULL, 
	seen_at DATETIME NOT NULL, 
	CONSTRAINT sessions_pk PRIMARY KEY (hash), 
	CONSTRAINT sessions_person_id_fk FOREIGN KEY(person_id) REFERENCES people (id)
);
CREATE TABLE tasks (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	shown TEXT NOT NULL, 
	about TEXT NOT NULL, 
	expected TEXT NOT NULL, 
	gold BOOLEAN NOT NULL, 
	live BOOLEAN NOT NULL, 
	open_disputes INTEGER NOT NULL, 
	agreement FLOAT NOT NULL, 
	CONSTRAINT tasks_project_id_fk FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT tasks_project_id_key_unique UNIQUE (project_id, "key")
);
INSERT INTO "tasks" VALUES(1,1,'c08ce9e5e158637e73830',0,'{"fields":[["text","孕妇在孕期第 0 周可以服用叶酸吗？"]],"paragraphs":[]}','[["candidate","c0"]]','[]',0,1,0,0.5);
INSERT INTO "tasks" VALUES(2,1,'cb1ea119c409a55e22c92',1,'{"fields":[["text","孕妇在孕期第 1 周可以服用叶酸吗？"]],"paragraphs":[]}','[["candidate","c1"]]','[]',0,1,0,1.0);
CREATE TABLE votes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	project_id INTEGER NOT NULL, 
	task_id INTEGER NOT NULL, 
	person_id INTEGER NOT NULL, 
	event_id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	wording TEXT NOT NULL, 
	question TEXT NOT NULL, 
	value TEXT, 
	door TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT votes_event_id_fk FOREIGN KEY(event_id) REFERENCES events (id), 
	CONSTRAINT votes_person_id_fk FOREIGN KEY(person_id) REFERENCES people (id), 
	CONSTRAINT votes_project_id_fk FOREIGN KEY(project_id) REFERENCES projects (id), 
	CONSTRAINT votes_task_id_fk FOREIGN KEY(task_id) REFERENCES tasks (id)
);
INSERT INTO "votes" VALUES(1,1,1,1,2,'c08ce9e5e158637e73830','w7ed4bef7d522','sound','1','app','2026-03-01 08:00:00.000000');
INSERT INTO "votes" VALUES(2,1,1,1,2,'c08ce9e5e158637e73830','w1ac262e5e2f4','grade','1','app','2026-03-01 08:00:00.000000');
INSERT INTO "votes" VALUES(3,1,1,2,4,'c08ce9e5e158637e73830','w7ed4bef7d522','sound','0','app','2026-03-01 08:03:00.000000');
INSERT INTO "votes" VALUES(4,1,1,2,4,'c08ce9e5e158637e73830','w1ac262e5e2f4','grade','1','app','2026-03-01 08:03:00.000000');
INSERT INTO "votes" VALUES(5,1,2,1,6,'cb1ea119c409a55e22c92','w7ed4bef7d522','sound','1','app','2026-03-01 08:06:00.000000');
INSERT INTO "votes" VALUES(6,1,2,1,6,'cb1ea119c409a55e22c92','w1ac262e5e2f4','grade','1','app','2026-03-01 08:06:00.000000');
INSERT INTO "votes" VALUES(7,1,2,1,8,'cb1ea119c409a55e22c92','w1ac262e5e2f4','grade','2','app','2026-03-01 08:06:00.000000');
INSERT INTO "votes" VALUES(8,1,1,3,10,'c08ce9e5e158637e73830','w7ed4bef7d522','sound','0','app','2026-03-01 08:09:00.000000');
INSERT INTO "votes" VALUES(9,1,2,2,11,'cb1ea119c409a55e22c92','w7ed4bef7d522','sound','1','csv','2026-03-01 08:09:00.000000');
INSERT INTO "votes" VALUES(10,1,2,2,11,'cb1ea119c409a55e22c92','w1ac262e5e2f4','grade','2','csv','2026-03-01 08:09:00.000000');
CREATE TABLE wordings (
	project_id INTEGER NOT NULL, 
	wording TEXT NOT NULL, 
	question TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	since DATETIME NOT NULL, 
	CONSTRAINT wordings_pk PRIMARY KEY (project_id, wording, question), 
	CONSTRAINT wordings_project_id_fk FOREIGN KEY(project_id) REFERENCES projects (id)
);
INSERT INTO "wordings" VALUES(1,'w7ed4bef7d522','sound','{"order":1,"subject":"claim","label":"成立","text":"题干本身是否成立？","answer":"binary","required":true,"options":{},"bands":{},"step":0.05,"tolerance":0.25,"threshold":0.5,"max_chars":4000,"lines":3}','2026-03-01 08:00:00.000000');
INSERT INTO "wordings" VALUES(1,'w1ac262e5e2f4','grade','{"order":2,"subject":"claim","label":"难度","text":"题目有多难？","answer":"scale","required":true,"options":{"1":"容易","2":"中等","3":"困难"},"bands":{},"step":0.05,"tolerance":0.25,"threshold":0.5,"max_chars":4000,"lines":3}','2026-03-01 08:00:00.000000');
CREATE INDEX sessions_of_person ON sessions (person_id);
CREATE INDEX tasks_in_dispute ON tasks (project_id, agreement, id) WHERE open_disputes > 0;
CREATE INDEX assignments_by_state ON assignments (person_id, project_id, live, state, place);
CREATE INDEX assignments_by_time ON assignments (person_id, project_id, live, state, seconds);
CREATE INDEX assignments_done ON assignments (person_id, project_id, done_event);
CREATE INDEX assignments_flagged ON assignments (person_id, project_id, live) WHERE flagged IS 1;
CREATE INDEX assignments_in_order ON assignments (person_id, project_id, place);
CREATE INDEX assignments_of_project ON assignments (project_id);
CREATE INDEX events_of_project ON events (project_id, id);
CREATE INDEX votes_of_project ON votes (project_id, id);
CREATE INDEX votes_of_event ON votes (event_id);
CREATE INDEX votes_of_task ON votes (task_id);
CREATE INDEX current_of_project ON current_votes (project_id);
CREATE TRIGGER events_no_update BEFORE UPDATE ON events  BEGIN SELECT RAISE(ABORT, 'events can only be added to'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events  BEGIN SELECT RAISE(ABORT, 'events can only be added to'); END;
CREATE TRIGGER events_no_replace BEFORE INSERT ON events WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'events can only be added to'); END;
CREATE TRIGGER votes_no_update BEFORE UPDATE ON votes  BEGIN SELECT RAISE(ABORT, 'votes can only be added to'); END;
CREATE TRIGGER votes_no_delete BEFORE DELETE ON votes  BEGIN SELECT RAISE(ABORT, 'votes can only be added to'); END;
CREATE TRIGGER votes_no_replace BEFORE INSERT ON votes WHEN EXISTS (SELECT 1 FROM votes WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'votes can only be added to'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('tasks',2);
INSERT INTO "sqlite_sequence" VALUES('assignments',5);
INSERT INTO "sqlite_sequence" VALUES('events',11);
INSERT INTO "sqlite_sequence" VALUES('votes',10);
COMMIT;
